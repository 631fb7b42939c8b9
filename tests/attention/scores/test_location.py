"""The location-based score against its formula, at the borders of what it has learned."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention import Attention, extend
from regard.attention.scores.location import LocationScore
from regard.attention.spans.everywhere import EverywhereSpan
from regard.attention.weightings.softmax import SoftmaxWeighting
from regard.errors import RegardError
from regard.models import AttentionSettings, build_attention
from regard.registry import Choice


def build(max_length: int) -> Attention:
    score = LocationScore(3, 5, max_length=max_length)
    return Attention(score, EverywhereSpan(3, 5), SoftmaxWeighting(3)).double()


@pytest.fixture
def queries() -> Tensor:
    return torch.randn(2, 4, 3, dtype=torch.float64)


def test_a_key_is_weighed_by_its_place_and_the_query_alone(queries, assert_agrees):
    attention, keys = build(9), torch.randn(2, 6, 5, dtype=torch.float64)
    mask = torch.arange(6) < torch.tensor([[6], [4]])
    attended = attention(queries, attention.remember(keys, mask=mask), need_weights=True)
    rows = attention.score.places.weight
    assert rows.shape == (9, 3)
    for batch, length in enumerate((6, 4)):
        for place, query in enumerate(queries[batch]):
            wanted = torch.stack([row @ query for row in rows[:length]]).softmax(0)
            assert_agrees("A09", attended.weights[batch, place, :length], wanted)
            assert_agrees("A09", attended.context[batch, place], wanted @ keys[batch, :length])
    others = attention(queries, attention.remember(torch.randn_like(keys), mask=mask), need_weights=True)
    assert_close(others.weights, attended.weights, rtol=0, atol=0)


def test_heads_have_their_own_queries_and_share_the_places(queries, assert_agrees):
    settings = AttentionSettings(score=Choice("location", {"max_length": 8}), num_heads=3)
    attention = build_attention(settings, 3, 5).double()
    keys, mask = torch.randn(2, 6, 5, dtype=torch.float64), torch.arange(6) < torch.tensor([[6], [2]])
    weights = attention(queries, attention.remember(keys, mask=mask), need_weights=True).weights
    ours = attention.heads.queries(queries)
    scores = torch.einsum("bhqd,kd->bhqk", ours, attention.score.places.weight[:6])
    assert_agrees("A09", weights, scores.masked_fill(~mask[:, None, None], float("-inf")).softmax(-1))


def test_as_many_keys_as_places_are_fine_and_one_more_is_told(queries):
    attention = build(6)
    keys = torch.randn(2, 7, 5, dtype=torch.float64)
    assert attention(queries, attention.remember(keys[:, :6])).context.shape == (2, 4, 5)
    with pytest.raises(RegardError, match=r"source of 7 pieces.*6 places.*attention\.score\.max_length"):
        attention(queries, attention.remember(keys))


def test_a_memory_may_grow(queries):
    attention, keys = build(6), torch.randn(2, 6, 5, dtype=torch.float64)
    memory = None
    for key in keys.split(2, dim=1):
        memory = extend(memory, attention.remember(key))
    assert_close(attention(queries, memory).context, attention(queries, attention.remember(keys)).context)
