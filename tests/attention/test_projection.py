"""Sparsemax and entmax: projections onto the simplex, against other ways to find them."""

import itertools

import pytest
import torch
from torch import Tensor, tensor
from torch.testing import assert_close

from regard.attention import WEIGHTINGS, View
from regard.registry import Choice

KEY = 5
ALPHAS = [1.1, 1.25, 1.5, 1.75, 2.0]


def weights_of(scores: Tensor, mask: Tensor | None = None, alpha: float = 2.0) -> Tensor:
    weighting = WEIGHTINGS.build(Choice("entmax", {"alpha": alpha}), 3)
    return weighting(scores, View(mask), scores, None)[0]


def sparsemax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    return WEIGHTINGS.build(Choice("sparsemax"), 3)(scores, View(mask), scores, None)[0]


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def nearest_by_supports(scores: Tensor) -> Tensor:
    """The nearest distribution to scores (key), by trying every set of keys that may have weight."""
    best, least = scores, float("inf")
    for size in range(1, len(scores) + 1):
        for inside in map(list, itertools.combinations(range(len(scores)), size)):
            weights = torch.zeros_like(scores)
            weights[inside] = scores[inside] + (1 - scores[inside].sum()) / size
            distance = float((weights - scores).square().sum())
            if bool((weights >= 0).all()) and distance < least:
                best, least = weights, distance
    return best


def test_sparsemax_is_the_nearest_distribution(assert_agrees):
    scores = random(40, KEY)
    assert_agrees("sparsemax", sparsemax(scores), torch.stack([nearest_by_supports(row) for row in scores]), 1e-12)


def test_sparsemax_by_hand(assert_agrees):
    scores = tensor([[1.0, 0.5, -1.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.1, 0.1, -0.5]], dtype=torch.float64)
    third = 1 / 3
    by_hand = tensor([[0.75, 0.25, 0.0], [1.0, 0.0, 0.0], [third, third, third], [0.5, 0.5, 0.0]], dtype=torch.float64)
    assert_agrees("sparsemax", sparsemax(scores), by_hand, 1e-12)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_entmax_fulfils_the_conditions_of_its_optimum(alpha, assert_agrees):
    """Inside, score - weight^(alpha - 1) / (alpha - 1) is the same for all; outside, no score is above that."""
    scores = random(50, KEY) * 2
    weights = weights_of(scores, alpha=alpha)
    assert_close(weights.sum(dim=-1), torch.ones(50, dtype=torch.float64))
    level = scores - weights ** (alpha - 1) / (alpha - 1)
    inside = weights > 0
    of_inside = level.masked_fill(~inside, float("inf")).amin(dim=-1, keepdim=True).expand_as(level)
    assert_agrees("entmax", level[inside], of_inside[inside], 1e-9)
    assert bool((scores <= of_inside + 1e-9)[~inside].all())


def test_halving_finds_what_sorting_finds(assert_agrees):
    scores = random(50, KEY) * 3
    for alpha, near in ((1.5, 1.5 + 1e-12), (2.0, 2.0 - 1e-12)):
        assert_agrees("entmax", weights_of(scores, alpha=near), weights_of(scores, alpha=alpha), 1e-9)


def test_alpha_two_is_sparsemax_and_alpha_near_one_nearly_softmax(assert_agrees):
    scores = random(20, KEY)
    assert_agrees("entmax", weights_of(scores, alpha=2.0), sparsemax(scores), 0.0)
    assert_close(weights_of(scores, alpha=1.0001), scores.softmax(dim=-1), rtol=0, atol=1e-3)


def test_greater_alpha_leaves_more_keys_out():
    scores = random(200, 12)
    left_out = [int((weights_of(scores, alpha=alpha) == 0).sum()) for alpha in ALPHAS]
    assert left_out == sorted(set(left_out))


@pytest.mark.parametrize("alpha", ALPHAS)
def test_gradients_are_those_of_finite_differences(alpha):
    scores = random(4, KEY).requires_grad_()
    mask = torch.arange(KEY) < tensor([[5], [3], [1], [0]])
    assert torch.autograd.gradcheck(lambda some: weights_of(some, mask, alpha), scores)
    assert torch.autograd.gradgradcheck(lambda some: weights_of(some, mask, alpha), scores)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_hidden_keys_are_as_if_not_there(alpha):
    scores = random(6, KEY)
    mask = torch.arange(KEY) % 2 == 0
    hidden = weights_of(scores.masked_fill(~mask, 1e9), mask, alpha)
    assert bool((hidden[:, ~mask] == 0).all())
    assert_close(hidden[:, mask], weights_of(scores[:, mask], alpha=alpha))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_a_constant_changes_nothing_and_large_scores_do_no_harm(alpha, dtype):
    scores = torch.randint(-3, 4, (30, KEY)).to(dtype)  # sums with 2^13 are exact
    assert_close(weights_of(scores + 8192, alpha=alpha), weights_of(scores, alpha=alpha))
    far = weights_of(tensor([[1e4, -1e4, 0.0]], dtype=dtype), alpha=alpha)
    assert far.tolist() == [[1.0, 0.0, 0.0]]


@pytest.mark.parametrize("weigh", [weights_of, sparsemax])
@pytest.mark.parametrize("strange", [float("nan"), float("inf")])
def test_a_score_that_is_no_number_is_told_by_the_weights(weigh, strange):
    """So that training can stop and say at which step."""
    scores = torch.tensor([[0.0, strange, 1.0], [0.0, 0.5, 1.0]])
    for alpha in ALPHAS:
        weights = weigh(scores, None, alpha) if weigh is weights_of else weigh(scores)
        assert bool(weights[0].isnan().any()) and bool(weights[1].isfinite().all())
