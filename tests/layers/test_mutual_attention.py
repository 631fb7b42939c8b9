"""Two sentences that look at each other, against a loop over all pairs of words."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.layers.mutual_attention import MutualAttention
from regard.models import AttentionSettings, build_attention
from regard.registry import Choice

DIM, HIDDEN = 4, 3
FIRST, SECOND = [5, 1, 2], [3, 4, 0]


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def mask(lengths: list[int]) -> Tensor:
    return torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(-1)


@pytest.fixture
def layer() -> MutualAttention:
    project = nn.Sequential(nn.Linear(DIM, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN))
    forth, back = (build_attention(AttentionSettings(score=Choice("dot")), HIDDEN, HIDDEN) for _ in range(2))
    return MutualAttention(project, forth, back).double().requires_grad_(False)


def test_equals_a_loop_over_pairs_of_words(layer, assert_agrees):
    first, second = random(3, max(FIRST), DIM), random(3, max(SECOND), DIM)
    beta, alpha = layer(first, second, mask(FIRST), mask(SECOND))
    for row, (n, m) in enumerate(zip(FIRST, SECOND, strict=True)):
        pairs = [[layer.project(a) @ layer.project(b) for b in second[row, :m]] for a in first[row, :n]]
        scores = torch.stack([torch.stack(line) if line else random(0) for line in pairs])
        for i in range(n):
            weights = scores[i].softmax(dim=0)
            assert_agrees(
                "A33", beta[row, i], sum((weights[j] * second[row, j] for j in range(m)), torch.zeros(DIM).double())
            )
        for j in range(m):
            weights = scores[:, j].softmax(dim=0)
            assert_agrees("A33", alpha[row, j], sum(weights[i] * first[row, i] for i in range(n)))


def test_turned_round_it_gives_the_same_turned_round(layer):
    first, second = random(3, max(FIRST), DIM), random(3, max(SECOND), DIM)
    beta, alpha = layer(first, second, mask(FIRST), mask(SECOND))
    assert_close(layer(second, first, mask(SECOND), mask(FIRST)), (alpha, beta))


def test_gradients_are_those_of_finite_differences(layer):
    first, second = random(3, max(FIRST), DIM).requires_grad_(), random(3, max(SECOND), DIM).requires_grad_()
    assert torch.autograd.gradcheck(lambda *pair: layer(*pair, mask(FIRST), mask(SECOND)), (first, second))
