"""Weightings by hand: softmax, and those whose weights need not sum to one."""

import math

import pytest
import torch
from torch import Tensor, tensor
from torch.testing import assert_close

from regard.attention import WEIGHTINGS, Attention
from regard.attention.scores.dot import DotScore
from regard.attention.spans.everywhere import EverywhereSpan
from regard.registry import Choice

DIM = 3
FORMULAS = {
    "linear_start": lambda score, row: math.exp(score) / sum(map(math.exp, row)),
    "sigmoid": lambda score, row: 1 / (1 + math.exp(-score)),
    "softmax": lambda score, row: math.exp(score) / sum(map(math.exp, row)),
    "unnormalised": lambda score, row: score,
}


def socket(weighting: str) -> Attention:
    part = WEIGHTINGS.build(Choice(weighting), DIM)
    return Attention(DotScore(DIM, DIM), EverywhereSpan(DIM, DIM), part).double()


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


@pytest.mark.parametrize("name", FORMULAS)
def test_the_formula_in_three_loops(name):
    """One weight serves every feature of a value; hidden keys have none."""
    queries, keys, values, lengths = random(2, 3, DIM), random(2, 4, DIM), random(2, 4, 5), [4, 2]
    mask = torch.arange(4) < tensor(lengths).unsqueeze(-1)
    attention = socket(name)
    attended = attention(queries, attention.remember(keys, values, mask), need_weights=True)
    for row, length in enumerate(lengths):
        for query in range(3):
            scores = [float(queries[row, query] @ keys[row, key]) for key in range(length)]
            weights = [FORMULAS[name](score, scores) for score in scores]
            assert attended.weights[row, query].tolist() == pytest.approx([*weights, *[0.0] * (4 - length)], abs=1e-12)
            for feature in range(5):
                wanted = sum(weights[key] * float(values[row, key, feature]) for key in range(length))
                assert attended.context[row, query, feature].item() == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_linear_start_mixes_scores_and_softmax_in_training_alone(share):
    queries, keys, mask = random(2, 6, DIM), random(2, 5, DIM), torch.arange(5) < tensor([[5], [2]])
    mixed, soft, linear = (socket(name) for name in ("linear_start", "softmax", "unnormalised"))
    mixed.weighting.softmax_weight = share
    found, softmax, scores = (
        one(queries, one.remember(keys, mask=mask), need_weights=True).weights for one in (mixed, soft, linear)
    )
    assert_close(found, share * softmax + (1 - share) * scores)
    mixed.eval()
    assert_close(mixed(queries, mixed.remember(keys, mask=mask), need_weights=True).weights, softmax)


def test_unnormalised_products_are_linear_attention_and_associate():
    queries, keys, values, attention = random(2, 6, DIM), random(2, 9, DIM), random(2, 9, 4), socket("unnormalised")
    assert_close(attention(queries, attention.remember(keys, values)).context, queries @ (keys.mT @ values))


@pytest.mark.parametrize("name", [name for name in WEIGHTINGS if WEIGHTINGS.build(Choice(name), DIM).normalised])
def test_a_single_key_has_all_the_weight_whatever_its_score(name):
    queries, keys, attention = random(1, 5, DIM) * 1e3, random(1, 1, DIM), socket(name)
    assert_close(attention(queries, attention.remember(keys)).context, keys.expand(1, 5, DIM))
