"""Spans by hand: windows around a predicted place, the same place, the past, and several at once."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention import SPANS, Attention, Memory, Span, View
from regard.attention.scores.dot import DotScore
from regard.attention.spans.all_of import AllOf
from regard.attention.spans.causal import CausalSpan
from regard.attention.spans.everywhere import EverywhereSpan
from regard.attention.spans.local_predictive import LocalPredictiveSpan
from regard.attention.spans.same_position import SamePositionSpan
from regard.attention.weightings.softmax import SoftmaxWeighting
from regard.errors import ConfigError
from regard.models import AttentionSettings, build_attention
from regard.registry import Choice

DIM = 2


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def memory(num_keys: int, lengths: list[int] | None = None) -> Memory:
    keys = random(len(lengths or [1]), num_keys, DIM)
    mask = None if lengths is None else torch.arange(num_keys) < torch.tensor(lengths).unsqueeze(-1)
    return Memory(keys, keys, mask)


def predicting(place: float, *, radius: int) -> LocalPredictiveSpan:
    """p is `place` of the length, whatever the query."""
    span = LocalPredictiveSpan(DIM, DIM, radius=radius, hidden_dim=1).double()
    span.from_query.weight.data[:] = torch.tensor([[100.0, 0.0]])  # tanh is 1 for queries [1, ·]
    span.to_place.weight.data.fill_(math.log(place / (1 - place)))
    return span


ONE = torch.tensor([[[1.0, 0.3]]], dtype=torch.float64)


@pytest.mark.parametrize("place", [0.01, 0.3, 0.55, 0.99])
@pytest.mark.parametrize("radius", [1, 2, 30])
@pytest.mark.parametrize("lengths", [[9], [6], [1]], ids=str)
def test_a_predicted_window_by_hand(place, radius, lengths):
    """p = S · place, S the true length; borders clip the window; the Gaussian's deviation is half the radius."""
    view = predicting(place, radius=radius)(ONE, memory(9, lengths), None)
    for key in range(9):
        distance = key - lengths[0] * place
        assert view.mask[0, 0, key] == (abs(distance) <= radius and key < lengths[0])
        assert view.gain[0, 0, key].item() == pytest.approx(math.exp(-(distance**2) / (2 * (radius / 2) ** 2)))


@pytest.mark.parametrize("num_heads", [1, 2])
def test_each_row_has_its_own_length(num_heads):
    settings = AttentionSettings(score=Choice("dot"), span=(Choice("local_predictive"),), num_heads=num_heads)
    attention = build_attention(settings, 4, 4).double()
    queries, keys, lengths = random(3, 2, 4), random(3, 7, 4), [7, 4, 2]
    mask = torch.arange(7) < torch.tensor(lengths).unsqueeze(-1)
    weights = attention(queries, attention.remember(keys, mask=mask), need_weights=True).weights
    for row, length in enumerate(lengths):
        alone = attention.remember(keys[row : row + 1, :length])
        wanted = attention(queries[row : row + 1], alone, need_weights=True).weights
        assert_close(weights[row : row + 1, ..., :length], wanted)
        assert bool((weights[row, ..., length:] == 0).all())


def test_a_window_over_everything_without_its_gaussian_is_global_attention():
    span, queries, seen = LocalPredictiveSpan(DIM, DIM, radius=8).double(), random(2, 3, DIM), memory(8, [8, 5])
    ways = [Attention(DotScore(DIM, DIM), one, SoftmaxWeighting(DIM)) for one in (span, EverywhereSpan(DIM, DIM))]
    local, everywhere = (way(queries, seen, need_weights=True) for way in ways)
    assert_close(local.weights / span(queries, seen, None).gain * seen.mask.unsqueeze(1), everywhere.weights)


def test_weights_are_a_softmax_over_the_window_alone_times_the_gaussian():
    span, seen = predicting(0.5, radius=2), memory(9)
    weights = Attention(DotScore(DIM, DIM), span, SoftmaxWeighting(DIM))(ONE, seen, need_weights=True).weights[0, 0]
    shown = [3, 4, 5, 6]  # p = 4.5
    parts = [math.exp((ONE[0, 0] @ seen.keys[0, key]).item()) for key in shown]
    wanted = [part / sum(parts) * math.exp(-((key - 4.5) ** 2) / 2) for key, part in zip(shown, parts, strict=True)]
    assert_close(weights[shown], torch.tensor(wanted, dtype=torch.float64))
    assert weights.count_nonzero() == 4 and weights.sum() < 1


def test_a_window_that_may_hold_no_key_is_refused():
    with pytest.raises(ConfigError, match=r"attention.span.radius: is 0 \(at least 1"):
        LocalPredictiveSpan(DIM, DIM, radius=0)


def test_the_place_learns_through_the_gaussian():
    span, queries, seen = LocalPredictiveSpan(DIM, DIM, radius=3).double(), random(2, 3, DIM), memory(6, [6, 4])
    attention = Attention(DotScore(DIM, DIM), span, SoftmaxWeighting(DIM))
    attention(queries, seen).context.square().sum().backward()
    assert all(bool((parameter.grad != 0).any()) for parameter in span.parameters())


@pytest.mark.parametrize("lengths", [[4, 2], None], ids=str)
def test_the_same_position_is_read_and_nothing_beyond_the_end(lengths):
    attention = Attention(DotScore(DIM, DIM), SamePositionSpan(DIM, DIM), SoftmaxWeighting(DIM))
    seen = memory(4, lengths)
    context = attention(random(len(seen.keys), 6, DIM), seen).context
    for row, length in enumerate(lengths or [4]):
        assert torch.equal(context[row, :length], seen.values[row, :length])
        assert bool((context[row, length:] == 0).all())


@pytest.mark.parametrize(("past", "queries", "keys"), [(0, 4, 4), (2, 2, 4), (3, 1, 4), (0, 3, 5), (1, 2, 5)])
def test_causal_shows_key_j_to_query_i_if_it_is_no_later(past, queries, keys):
    seen = memory(keys, [keys, 2])
    view = CausalSpan(DIM, DIM)(random(2, queries, DIM), seen, past)
    shown = view.mask.expand(2, queries, keys)
    for row, length in enumerate([keys, 2]):
        wanted = [[key <= past + query and key < length for key in range(keys)] for query in range(queries)]
        assert shown[row].tolist() == wanted


class Marked(Span):
    """Shows, adds, multiplies and reads what it is told to."""

    def __init__(self, view: View) -> None:
        super().__init__()
        self.view = view

    def forward(self, queries: Tensor, memory: Memory, past: object) -> View:
        return self.view


def test_all_of_shows_what_all_show_adds_biases_and_multiplies_gains():
    first = View(torch.tensor([[True, True, False]]), random(1, 3), None, random(1, 3, DIM))
    second = View(torch.tensor([[True, False, True]]), random(1, 3), random(1, 3), random(1, 3, DIM))
    joined = AllOf([Marked(View()), Marked(first), Marked(second)])(random(1, 1, DIM), memory(3), (None,) * 3)
    assert joined.mask.tolist() == [[True, False, False]]
    wanted = (first.bias + second.bias, second.gain, first.values + second.values)
    assert_close((joined.bias, joined.gain, joined.values), wanted)


@pytest.mark.parametrize("name", SPANS)
def test_all_of_one_is_that_one_and_each_past_goes_its_own_way(name):
    span, queries, seen = SPANS.build(Choice(name), DIM, DIM).double(), random(2, 4, DIM), memory(5, [5, 3])
    single = Attention(DotScore(DIM, DIM), span, SoftmaxWeighting(DIM))
    joined = Attention(DotScore(DIM, DIM), AllOf([span, EverywhereSpan(DIM, DIM)]), SoftmaxWeighting(DIM))
    past = other = None
    for some in queries.split([1, 2, 1], dim=1):
        one, both = single(some, seen, past, need_weights=True), joined(some, seen, other, need_weights=True)
        past, other = one.past, both.past
        assert_close((one.context, one.weights), (both.context, both.weights))
        assert_close(other[1], (past[1], None))
