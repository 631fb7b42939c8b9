"""The fused loss equals torch's, in values and gradients, whatever weights the rows get."""

import pytest
import torch
from builds import BUILDS, build_for
from torch.nn import functional
from torch.testing import assert_close

from regard.errors import ConfigError
from regard.heads import HEADS
from regard.heads.linear import LinearHead
from regard.ops import cross_entropy
from regard.ops.plain import plain
from regard.records import PAD, Decoded
from regard.registry import Choice

VOCAB, DIM = 11, 4


@pytest.fixture(params=[False, True], ids=["no-bias", "bias"])
def head(request: pytest.FixtureRequest) -> LinearHead:
    made = LinearHead(DIM, VOCAB, bias=request.param).double()
    if made.bias is not None:
        torch.nn.init.normal_(made.bias)
    return made


def case(rows: int = 3, length: int = 5) -> tuple[Decoded, torch.Tensor]:
    targets = torch.randint(1, VOCAB, (rows, length))
    targets[1, 3:] = PAD
    return Decoded(torch.randn(rows, length, DIM, dtype=torch.float64, requires_grad=True)), targets


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("chunk", [4, 512])
@pytest.mark.parametrize("equal", [True, False], ids=["equal-rows", "weighted-rows"])
def test_fused_loss_equals_torch(head, smoothing, chunk, equal, monkeypatch):
    monkeypatch.setattr(cross_entropy, "LOSS_ROWS", chunk)
    decoded, targets = case()
    rows = torch.ones(targets.shape, dtype=torch.float64) if equal else torch.rand(targets.shape, dtype=torch.float64)
    oracle = torch.nn.Linear(DIM, VOCAB, bias=head.bias is not None)
    oracle.weight, oracle.bias = head.weight, head.bias
    logits = oracle(decoded.states)
    wanted = functional.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=PAD, label_smoothing=smoothing, reduction="none"
    ).view(targets.shape)
    losses = head.nll(decoded, None, targets, smoothing=smoothing)
    assert_close(losses, wanted)
    inputs = (decoded.states, *head.parameters())
    assert_close(torch.autograd.grad((losses * rows).sum(), inputs), torch.autograd.grad((wanted * rows).sum(), inputs))


@pytest.mark.parametrize("build", ["here", "nowhere", *BUILDS])
@pytest.mark.parametrize("vocab", [3, 64, 1003])
def test_loss_in_float32_equals_torch_in_float64(build, vocab, monkeypatch):
    if build != "here":
        made = None if build == "nowhere" else build_for(build, monkeypatch)(cross_entropy.CROSS_ENTROPY_SOURCE)
        monkeypatch.setattr(cross_entropy, "library", lambda source: made)
    states = torch.randn(20, 32, requires_grad=True)
    weight = torch.randn(vocab, 32, requires_grad=True)
    targets = torch.randint(0, vocab, (20,))
    losses = cross_entropy.LinearCrossEntropy.apply(states, weight, None, targets, 0.1)
    exact = functional.cross_entropy(
        states.double() @ weight.double().t(), targets, label_smoothing=0.1, reduction="none"
    )
    assert_close(losses.double(), exact, rtol=1e-5, atol=1e-5)
    found, wanted = (torch.autograd.grad(one.sum(), (states, weight)) for one in (losses, exact))
    assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("target", [-1, 7])
def test_target_that_is_no_word_is_refused(target):
    states, weight = torch.randn(2, 16), torch.randn(7, 16)
    with pytest.raises((IndexError, RuntimeError)):
        cross_entropy.LinearCrossEntropy.apply(states, weight, None, torch.tensor([0, target]), 0.0)


def test_plain_path_is_the_same_and_twice_differentiable(head):
    decoded, targets = case()
    fused = head.nll(decoded, None, targets, smoothing=0.1)
    with plain():
        slow = head.nll(decoded, None, targets, smoothing=0.1)
        assert_close(fused, slow)
        (first,) = torch.autograd.grad(slow.sum(), decoded.states, create_graph=True)
        assert torch.autograd.grad(first.sum(), decoded.states)[0].isfinite().all()


@pytest.mark.parametrize("chunk", [2, 512])
def test_gradients_are_those_of_finite_differences(head, chunk, monkeypatch):
    monkeypatch.setattr(cross_entropy, "LOSS_ROWS", chunk)
    states, targets = torch.randn(3, DIM, dtype=torch.float64, requires_grad=True), torch.tensor([1, 4, 1])
    bias = torch.zeros(VOCAB, dtype=torch.float64) if head.bias is None else head.bias

    def losses(states: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        given = None if head.bias is None else bias
        return cross_entropy.LinearCrossEntropy.apply(states, weight, given, targets, 0.1)

    assert torch.autograd.gradcheck(losses, (states, head.weight, bias))


def test_a_bias_starts_as_zero_and_is_a_setting():
    assert dict(LinearHead(DIM, VOCAB).named_parameters()).keys() == {"weight"}
    made = HEADS.build(Choice("linear", {"bias": True}), DIM, VOCAB, None)
    assert made.bias.tolist() == [0.0] * VOCAB
    assert HEADS.build(Choice("pointer", {"bias": True}), DIM, VOCAB, None).words.bias.shape == (VOCAB,)


def test_losses_of_half_precision_states_can_be_summed(head):
    """Each is as rough as its logits, but ten thousand of them, about 2.4 nats each, do not round to a few bits."""
    states = torch.zeros(100, 100, DIM, dtype=torch.bfloat16)
    losses = head.bfloat16().nll(Decoded(states), None, torch.ones(100, 100, dtype=torch.long))
    assert losses.dtype == torch.float32
    assert losses.sum().item() == pytest.approx(1e4 * losses[0, 0].item(), rel=1e-6)


def test_extreme_logits_stay_finite(head):
    decoded, targets = case()
    losses = head.nll(Decoded(decoded.states * 1e4), None, targets)
    logits = functional.linear(decoded.states * 1e4, head.weight, head.bias).flatten(0, 1)
    wanted = functional.cross_entropy(logits, targets.flatten(), ignore_index=PAD, reduction="none")
    assert_close(losses, wanted.view(targets.shape))


def test_only_padding_gives_zero(head):
    decoded, targets = case()
    losses = head.nll(decoded, None, torch.zeros_like(targets))
    assert bool((losses == 0).all())
    losses.sum().backward()


def test_log_probs_agree_with_the_loss(head):
    decoded, targets = case()
    log_probs = head.log_probs(decoded, None)
    assert_close(log_probs.exp().sum(dim=-1), torch.ones(3, 5, dtype=torch.float64))
    picked = -log_probs.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    assert_close(head.nll(decoded, None, targets), picked.masked_fill(targets == PAD, 0.0))


def test_a_shared_table_of_another_width_is_refused():
    with pytest.raises(ConfigError, match=r"dim 6 .* dim 4.*tied: none"):
        LinearHead(DIM, VOCAB, torch.nn.Parameter(torch.randn(VOCAB, 6)))


@pytest.mark.parametrize("rows", [1, 300])
def test_normalised_in_place_is_the_same(rows):
    torch.manual_seed(0)
    head = LinearHead(16, 5003, bias=True)
    decoded = Decoded(torch.randn(rows, 1, 16), None)
    wanted = head.log_probs(decoded, None)  # gradients need the product: it is kept
    with torch.inference_mode():
        assert_close(head.log_probs(decoded, None), wanted.detach(), rtol=0, atol=0)
