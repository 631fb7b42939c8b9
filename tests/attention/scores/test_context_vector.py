"""A learned context vector in place of the query, against a loop over keys."""

import math

import pytest
import torch
from torch.testing import assert_close

from regard.attention import Attention
from regard.attention.scores.context_vector import ContextVectorScore
from regard.attention.spans.everywhere import EverywhereSpan
from regard.attention.weightings.softmax import SoftmaxWeighting


def build(**settings: int | bool) -> Attention:
    return Attention(ContextVectorScore(3, 5, **settings), EverywhereSpan(3, 5), SoftmaxWeighting(3)).double()


@pytest.mark.parametrize("bias", [False, True])
def test_weights_are_those_of_a_loop_and_the_same_for_every_query(bias, assert_agrees):
    attention = build(hidden_dim=4, bias=bias)
    score = attention.score
    torch.nn.init.normal_(score.from_key.weight)
    shift = torch.zeros(4).double()
    if bias:
        assert bool((score.from_key.bias == 0).all())
        torch.nn.init.normal_(score.from_key.bias)
        shift = score.from_key.bias
    queries, keys = torch.randn(2, 3, 3, dtype=torch.float64), torch.randn(2, 6, 5, dtype=torch.float64)
    mask = torch.arange(6) < torch.tensor([[6], [4]])
    attended = attention(queries, attention.remember(keys, mask=mask), need_weights=True)
    for batch, length in enumerate((6, 4)):
        hidden = [torch.tanh(score.from_key.weight @ key + shift) for key in keys[batch, :length]]
        exponentials = [math.exp((score.to_score.weight[0] @ one).item()) for one in hidden]
        weights = torch.tensor([one / sum(exponentials) for one in exponentials], dtype=torch.float64)
        for query in range(3):
            assert_agrees("A15", attended.weights[batch, query, :length], weights)
            assert_agrees("A15", attended.context[batch, query], weights @ keys[batch, :length])


def test_a_key_is_scored_once_whatever_asks():
    score = ContextVectorScore(3, 5, hidden_dim=4)
    prepared = score.prepare(torch.randn(2, 6, 5))
    assert prepared.shape == (2, 6, 1)
    ours, theirs = score.inner(torch.randn(2, 3, 3), prepared, None)
    assert_close(ours @ theirs.mT, score(torch.randn(2, 3, 3), prepared, None))


def test_weights_start_small():
    score = ContextVectorScore(3, 400, hidden_dim=300)
    for weight in (score.from_key.weight, score.to_score.weight):
        assert 0.08 <= weight.std().item() <= 0.12
