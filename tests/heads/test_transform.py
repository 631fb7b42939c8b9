"""BERT's output layer equals torch's layers, in values, choices and gradients."""

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.testing import assert_close

from regard.heads.transform import TransformedHead
from regard.records import PAD, Decoded

VOCAB, DIM = 11, 4


def made() -> tuple[TransformedHead, nn.Sequential]:
    """A head whose table is an embedder's, and torch's layers of the same numbers."""
    head = TransformedHead(DIM, VOCAB, nn.Parameter(torch.randn(VOCAB, DIM))).double()
    nn.init.normal_(head.words.bias)
    oracle = nn.Sequential(nn.Linear(DIM, DIM), nn.GELU(), nn.LayerNorm(DIM, eps=1e-12), nn.Linear(DIM, VOCAB))
    for layer, mine in ((0, head.dense), (2, head.norm)):
        oracle[layer].load_state_dict(mine.state_dict())
    oracle[3].load_state_dict({"weight": head.words.weight.detach(), "bias": head.words.bias.detach()})
    return head, oracle.double()


def test_probabilities_and_best_words_are_those_of_torch():
    head, oracle = made()
    states = torch.randn(3, 1, DIM, dtype=torch.float64)
    wanted = oracle(states).log_softmax(dim=-1)
    assert_close(head.log_probs(Decoded(states), None), wanted)
    words, found = head.best(Decoded(states), None, 2, forbidden=[5])
    kept = wanted[:, 0].index_fill(1, torch.tensor([5]), float("-inf")).topk(2)
    assert_close(found, kept.values)
    assert words.tolist() == kept.indices.tolist()


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_loss_and_its_gradient_are_those_of_torch(smoothing):
    head, oracle = made()
    states = torch.randn(2, 5, DIM, dtype=torch.float64, requires_grad=True)
    targets = torch.tensor([[PAD, 3, PAD, 7, PAD], [PAD, PAD, 10, PAD, PAD]])
    losses = head.nll(Decoded(states), None, targets, smoothing=smoothing)
    wanted = functional.cross_entropy(
        oracle(states).flatten(0, 1), targets.flatten(), ignore_index=PAD, label_smoothing=smoothing, reduction="none"
    ).view(targets.shape)
    assert_close(losses, wanted)
    assert_close(*(torch.autograd.grad(one.sum(), states)[0] for one in (losses, wanted)))


def test_no_target_gives_no_loss_and_a_gradient_of_zeros():
    head, _ = made()
    states = torch.randn(2, 3, DIM, dtype=torch.float64, requires_grad=True)
    losses = head.nll(Decoded(states), None, torch.full((2, 3), PAD))
    losses.sum().backward()
    assert losses.abs().sum() == 0 and states.grad.abs().sum() == 0
