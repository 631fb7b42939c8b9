"""Addressing of a memory: each step of it switched off, and all of it against a loop."""

import math

import pytest
import torch
from torch import Tensor, tensor

from regard.attention import View
from regard.attention.weightings.addressing import AddressingWeighting

KEY, DIM = 6, 3
NEVER, ALWAYS = -1e4, 1e4  # before a sigmoid, a softplus, a softmax


def weighting_of(*, beta: float = 0.0, gate: float = NEVER, gamma: float = NEVER, move: int = 0) -> AddressingWeighting:
    """The same for every query; as it stands it stays where it is."""
    weighting = AddressingWeighting(DIM).double()
    moves = [ALWAYS if by == move else 0.0 for by in (-1, 0, 1)]
    with torch.no_grad():
        weighting.from_query.weight.zero_()
        weighting.from_query.bias.copy_(tensor([beta, gate, gamma, *moves]))
    return weighting


def step(weighting: AddressingWeighting, last: Tensor, scores: Tensor, mask: Tensor | None = None) -> Tensor:
    queries = torch.zeros(*last.shape[:-1], 1, DIM, dtype=last.dtype)
    weights, _ = weighting(scores.unsqueeze(-2), View(None if mask is None else mask.unsqueeze(-2)), queries, last)
    return weights.squeeze(-2)


@pytest.fixture
def last() -> Tensor:
    return torch.rand(4, KEY, dtype=torch.float64).softmax(dim=-1)


@pytest.fixture
def scores() -> Tensor:
    return torch.randn(4, KEY, dtype=torch.float64)


def test_closed_gate_no_move_and_no_sharpening_keep_the_weights(last, scores, assert_agrees):
    assert_agrees("A31", step(weighting_of(), last, scores).detach(), last, 1e-12)


@pytest.mark.parametrize("move", [-1, 1])
def test_a_move_rotates(move, last, scores, assert_agrees):
    assert_agrees("A31", step(weighting_of(move=move), last, scores).detach(), last.roll(move, dims=-1), 1e-12)


def test_a_move_rotates_within_what_is_seen(scores, assert_agrees):
    """Padding, and a key hidden in between, are no part of the circle."""
    mask = tensor([[1, 1, 1, 1, 0, 0], [1, 0, 1, 1, 1, 0], [1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]]).bool()
    last = torch.rand(4, KEY, dtype=torch.float64) * mask
    last = last / last.sum(dim=-1, keepdim=True).clamp(min=1e-9)
    moved = step(weighting_of(move=1), last, scores, mask).detach()
    for row in range(4):
        assert_agrees("A31", moved[row, mask[row]], last[row, mask[row]].roll(1), 1e-12)
        assert not bool(moved[row, ~mask[row]].any())


def test_an_open_gate_addresses_by_content(last, scores, assert_agrees):
    found = step(weighting_of(beta=2.0, gate=ALWAYS), last, scores).detach()
    assert_agrees("A31", found, (math.log1p(math.exp(2.0)) * scores).softmax(dim=-1), 1e-12)


def test_sharpening_is_a_power(last, scores, assert_agrees):
    gamma = 1 + math.log1p(math.exp(1.5))
    powers = last**gamma
    found = step(weighting_of(gamma=1.5), last, scores).detach()
    assert_agrees("A31", found, powers / powers.sum(dim=-1, keepdim=True), 1e-12)


def loop(weighting: AddressingWeighting, query: Tensor, last: list[float], scores: list[float]) -> list[float]:
    """Equations 5 to 9, key by key."""
    beta, gate, gamma, *moves = weighting.from_query(query).tolist()
    beta, gate, gamma = math.log1p(math.exp(beta)), 1 / (1 + math.exp(-gate)), 1 + math.log1p(math.exp(gamma))
    moves = [math.exp(move) / sum(map(math.exp, moves)) for move in moves]
    size, content = len(scores), [math.exp(beta * score) for score in scores]
    mixed = [gate * content[key] / sum(content) + (1 - gate) * last[key] for key in range(size)]
    moved = [sum(mixed[(key - by) % size] * moves[by + len(moves) // 2] for by in _by(moves)) for key in range(size)]
    return [one**gamma / sum(other**gamma for other in moved) for one in moved]


def _by(moves: list[float]) -> range:
    return range(-(len(moves) // 2), len(moves) // 2 + 1)


@pytest.mark.parametrize("shift", [0, 1, 2])
@pytest.mark.parametrize("length", [1, 2, 6])
def test_equals_a_loop(shift, length, last, scores, assert_agrees):
    """Moves go around a circle shorter than they are, too."""
    weighting = AddressingWeighting(DIM, shift=shift).double()
    queries, mask = torch.randn(4, 1, DIM, dtype=torch.float64), torch.arange(KEY).expand(4, KEY) < length
    last = last * mask
    last = last / last.sum(dim=-1, keepdim=True)
    found, _ = weighting(scores.unsqueeze(-2), View(mask.unsqueeze(-2)), queries, last)
    for row in range(4):
        rows = (last[row, :length].tolist(), scores[row, :length].tolist())
        wanted = tensor(loop(weighting, queries[row, 0], *rows), dtype=torch.float64)
        assert_agrees("A31", found[row, 0, :length].detach(), wanted, 1e-12)


@pytest.mark.parametrize("beta, gamma", [(0.0, 0.0), (1e6, 1e3), (ALWAYS, 200.0)])
def test_weights_stay_a_distribution_with_finite_gradients(beta, gamma, last, scores):
    weighting = weighting_of(beta=beta, gate=0.0, gamma=gamma, move=1).float()
    scores = scores.float().requires_grad_()
    weights = step(weighting, last.float(), scores)
    assert bool((weights >= 0).all())
    assert weights.sum(dim=-1).tolist() == pytest.approx([1.0] * 4)
    weights.square().sum().backward()
    gradients = [scores.grad, *(parameter.grad for parameter in weighting.parameters())]
    assert all(bool(gradient.isfinite().all()) for gradient in gradients)


def test_gradients_are_those_of_finite_differences(last, scores):
    weighting = AddressingWeighting(DIM).double()
    queries = torch.randn(4, 1, DIM, dtype=torch.float64, requires_grad=True)
    mask = torch.arange(KEY).expand(4, 1, KEY) < tensor([6, 3, 1, 0]).view(4, 1, 1)
    scores, last = scores.unsqueeze(-2).requires_grad_(), last.requires_grad_()
    assert torch.autograd.gradcheck(lambda *some: weighting(some[0], View(mask), *some[1:])[0], (scores, queries, last))
