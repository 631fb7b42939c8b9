"""The pointer head against its mixture by hand, as a distribution, and as a loss."""

import math

import pytest
import torch
from networks import build_translator
from torch import Tensor
from torch.nn import functional
from torch.testing import assert_close

from regard.errors import ConfigError
from regard.heads.pointer import PointerHead
from regard.models import ROUTE, AttentionSettings
from regard.records import PAD, Batch, Decoded, Encoded, Sequences
from regard.registry import Choice

VOCAB, DIM, ROWS, STEPS = 9, 4, 2, 3
SOURCE = torch.tensor([[5, 7, 5, 2], [8, 2, 0, 0]])  # 5 stands twice in the first


@pytest.fixture
def head() -> PointerHead:
    made = PointerHead(DIM, VOCAB, bias=True).double()
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter)
    return made


@pytest.fixture
def encoded() -> Encoded:
    return Encoded(torch.zeros(ROWS, 4, DIM), SOURCE != PAD, torch.zeros(ROWS, DIM), ids=SOURCE)


@pytest.fixture
def decoded() -> Decoded:
    scores = torch.randn(ROWS, STEPS, 4, dtype=torch.float64).masked_fill((SOURCE == PAD).unsqueeze(1), -math.inf)
    return Decoded(torch.randn(ROWS, STEPS, DIM, dtype=torch.float64), scores.softmax(dim=-1))


def mixture(head: PointerHead, state: Tensor, weights: Tensor, source: Tensor) -> list[float]:
    """p(w) of one step, word by word."""
    gate = torch.sigmoid(head.to_gate.weight[0] @ state + head.to_gate.bias[0]).item()
    written = (head.words.weight @ state + head.words.bias).softmax(dim=0).tolist()
    pairs = list(zip(source.tolist(), weights.tolist(), strict=True))
    return [gate * written[word] + (1 - gate) * sum(w for id_, w in pairs if id_ == word) for word in range(VOCAB)]


def test_the_mixture_word_by_word(head, decoded, encoded):
    probabilities = head.log_probs(decoded, encoded).exp()
    for row in range(ROWS):
        for step in range(STEPS):
            wanted = mixture(head, decoded.states[row, step], decoded.weights[row, step], SOURCE[row])
            assert_close(probabilities[row, step].tolist(), wanted)
    assert_close(probabilities.sum(dim=-1), torch.ones(ROWS, STEPS, dtype=torch.float64))


def test_by_hand():
    """g = 3/4, three words equally likely to be written; the source is words 1, 1, 2 with weights .5, .3, .2."""
    head = PointerHead(1, 3, keep=0.75).double()
    head.words.weight.data.zero_()
    seen = Encoded(
        torch.zeros(1, 3, 1), torch.ones(1, 3, dtype=torch.bool), torch.zeros(1, 1), ids=torch.tensor([[1, 1, 2]])
    )
    wrote = Decoded(torch.ones(1, 1, 1, dtype=torch.float64), torch.tensor([[[0.5, 0.3, 0.2]]]).double())
    assert_close(head.log_probs(wrote, seen).exp()[0, 0].tolist(), [0.25, 0.25 + 0.25 * 0.8, 0.25 + 0.25 * 0.2])


@pytest.mark.parametrize("keep", [0.5, 0.9])
def test_keep_is_how_much_is_written_at_the_start(keep, decoded):
    head = PointerHead(DIM, VOCAB, keep=keep).double()
    assert_close(torch.sigmoid(head.to_gate(decoded.states)), torch.full((ROWS, STEPS, 1), keep, dtype=torch.float64))


@pytest.mark.parametrize("share", [0.0, 0.4, 2.5])
def test_weights_that_do_not_sum_to_one_still_give_a_distribution(share, head, decoded, encoded):
    rare = decoded._replace(weights=decoded.weights * share)
    probabilities = head.log_probs(rare, encoded).exp()
    assert_close(probabilities.sum(dim=-1), torch.ones(ROWS, STEPS, dtype=torch.float64))
    if share == 0:
        assert_close(probabilities, head.words.log_probs(decoded, encoded).exp())


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_that_of_the_log_probabilities(smoothing, head, decoded, encoded):
    targets = torch.tensor([[5, 7, 2], [8, 2, PAD]])
    log_probs = head.log_probs(decoded, encoded)
    wanted = functional.nll_loss(log_probs.flatten(0, 1), targets.flatten(), ignore_index=PAD, reduction="none")
    wanted = (1 - smoothing) * wanted.view(targets.shape) - smoothing * log_probs.mean(dim=-1) * (targets != PAD)
    losses = head.nll(decoded, encoded, targets, smoothing=smoothing)
    assert_close(losses, wanted)
    assert losses[1, 2] == 0


def test_a_word_that_is_never_written_is_copied_with_the_weight_it_gets(head, decoded, encoded):
    head.words.weight.data[7] = -1e4 * decoded.states[0, 0]
    weights = torch.tensor([0.1, 0.6, 0.2, 0.1], dtype=torch.float64)
    sure = Decoded(decoded.states[:1, :1], weights.view(1, 1, 4))
    gate = torch.sigmoid(head.to_gate(sure.states)).item()
    first = encoded._replace(ids=SOURCE[:1])
    assert head.log_probs(sure, first)[0, 0, 7].exp().item() == pytest.approx(0.6 * (1 - gate), rel=1e-12)


def test_gradients_are_those_of_finite_differences(head, decoded, encoded):
    targets = torch.tensor([[5, 7, 2], [8, 2, PAD]])
    states, weights = decoded.states.requires_grad_(), (decoded.weights * 0.9).requires_grad_()

    def loss(some: Tensor, others: Tensor) -> Tensor:
        return head.nll(Decoded(some, others), encoded, targets, smoothing=0.1)

    assert torch.autograd.gradcheck(loss, (states, weights))


def test_an_impossible_word_has_a_finite_loss_and_gradient(head, encoded):
    states = torch.full((ROWS, STEPS, DIM), 1e4, dtype=torch.float64, requires_grad=True)
    loss = head.nll(Decoded(states, torch.zeros(ROWS, STEPS, 4)), encoded, torch.full((ROWS, STEPS), 6))
    loss.sum().backward()
    assert bool(loss.isfinite().all()) and bool(states.grad.isfinite().all())


def test_a_decoder_that_looks_at_nothing_has_nothing_to_copy():
    settings = dict(
        dim=8,
        encoder=Choice("recurrent", {"hidden_dim": 4}),
        decoder=Choice("recurrent", {"hidden_dim": 8, "source_context": "final"}),
        attention=AttentionSettings(score=Choice("additive")),
        head=Choice("pointer"),
        tied="all",
    )
    model = build_translator(settings, VOCAB, VOCAB)
    rows = Sequences(SOURCE, SOURCE != PAD)
    with pytest.raises(ConfigError, match="'pointer' needs a decoder that attends to the source"):
        model.nll(Batch({"source": rows, "target": rows}, ROUTE, torch.arange(ROWS), 6))
