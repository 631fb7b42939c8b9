"""Spans by hand: windows around the query's own or a predicted place, the same place, the past, several at once."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch.testing import assert_close

from regard.attention import SPANS, Attention, Memory, Span, View
from regard.attention.parts import AllOf
from regard.attention.scores.dot import DotScore
from regard.attention.spans.causal import CausalSpan
from regard.attention.spans.everywhere import EverywhereSpan
from regard.attention.spans.local_monotonic import LocalMonotonicSpan
from regard.attention.spans.local_predictive import LocalPredictiveSpan
from regard.attention.spans.same_position import SamePositionSpan
from regard.attention.spans.window import WindowSpan
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


LOCAL = [LocalPredictiveSpan, LocalMonotonicSpan]


@pytest.mark.parametrize("kind", [*LOCAL, WindowSpan])
def test_a_window_over_everything_without_a_gaussian_is_global_attention(kind, assert_agrees):
    settings = {} if kind is WindowSpan else {"gaussian": False}
    span, queries, seen = kind(DIM, DIM, radius=8, **settings).double(), random(2, 3, DIM), memory(8, [8, 5])
    local, everywhere = (weights_of(one, queries, seen) for one in (span, EverywhereSpan(DIM, DIM)))
    for entry in {WindowSpan: ["A24"], LocalPredictiveSpan: ["A10", "A14"], LocalMonotonicSpan: ["A13"]}[kind]:
        assert_agrees(entry, local, everywhere)


@pytest.mark.parametrize("kind", LOCAL)
def test_a_renormalised_window_is_its_weights_times_the_gaussian_divided_by_their_sum(kind, assert_agrees):
    queries, seen = random(2, 6, DIM), memory(9, [9, 5])
    torch.manual_seed(0)
    once = weights_of(kind(DIM, DIM, radius=3, gaussian=True).double(), queries, seen)
    torch.manual_seed(0)
    again = weights_of(kind(DIM, DIM, radius=3, gaussian=True, renormalise=True).double(), queries, seen)
    assert_agrees("A14" if kind is LocalPredictiveSpan else "A13", again, once / once.sum(dim=-1, keepdim=True))


def weights_of(span: Span, queries: Tensor, seen: Memory) -> Tensor:
    weights = Attention(DotScore(DIM, DIM), span, SoftmaxWeighting(DIM))(queries, seen, need_weights=True).weights
    assert weights is not None
    return weights


def test_weights_are_a_softmax_over_the_window_alone_times_the_gaussian():
    span, seen = predicting(0.5, radius=2), memory(9)
    weights = Attention(DotScore(DIM, DIM), span, SoftmaxWeighting(DIM))(ONE, seen, need_weights=True).weights[0, 0]
    shown = [3, 4, 5, 6]  # p = 4.5
    parts = [math.exp((ONE[0, 0] @ seen.keys[0, key]).item()) for key in shown]
    wanted = [part / sum(parts) * math.exp(-((key - 4.5) ** 2) / 2) for key, part in zip(shown, parts, strict=True)]
    assert_close(weights[shown], torch.tensor(wanted, dtype=torch.float64))
    assert weights.count_nonzero() == 4 and weights.sum() < 1


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("local_predictive", {"radius": 0}, "attention.span.radius: must be at least 1, not 0"),
        ("local_predictive", {"gaussian": False, "renormalise": True}, "attention.span.renormalise: there is no Gaus"),
        ("local_monotonic", {"radius": -1}, "attention.span.radius: must be at least 0, not -1"),
        ("local_monotonic", {"radius": 0, "gaussian": True}, r"radius: is 0 \(at least 1 with a Gaussian"),
        ("local_monotonic", {"renormalise": True}, "attention.span.renormalise: there is no Gaussian"),
        ("window", {"radius": -1}, "attention.span.radius: must be at least 0, not -1"),
        ("window", {"dilation": 0}, "attention.span.dilation: must be at least 1, not 0"),
        ("window", {"dilation": 2}, "attention.span.dilation: is 2, but the pattern 'band' leaves no key out"),
    ],
)
def test_a_window_that_means_nothing_is_refused(name, settings, message):
    with pytest.raises(ConfigError, match=message):
        SPANS.build(Choice(name, settings), DIM, DIM)


@pytest.mark.parametrize("before", [0, 3])
@pytest.mark.parametrize("lengths", [[9, 6], [1, 0]], ids=str)
@pytest.mark.parametrize("pattern", ["band", "dilated", "sparse"])
@pytest.mark.parametrize("radius", [0, 1, 4, 20])
def test_a_window_by_hand(pattern, radius, lengths, before):
    """Pattern by pattern, written out as the definition says; borders and padding cut the window."""
    dilation = 1 if pattern == "band" else 3
    span = WindowSpan(DIM, DIM, radius=radius, dilation=dilation, pattern=pattern)
    shown = span(random(2, 7, DIM), memory(9, lengths), before).mask
    for row, query, key in torch.cartesian_prod(torch.arange(2), torch.arange(7), torch.arange(9)).tolist():
        distance = abs(query + before - key)
        wanted = distance <= radius and key < lengths[row]
        if pattern == "dilated":
            wanted = wanted and distance % 3 == 0
        if pattern == "sparse":
            wanted = wanted and (distance % 3 == 0 or distance <= 3)
        assert shown[row, query, key] == wanted


def test_a_window_equals_scaled_dot_product_attention_of_torch_with_a_band(assert_agrees):
    """The oracle of the paper's restricted attention: the same band given to torch as a mask."""
    settings = AttentionSettings(span=(Choice("window", {"radius": 2}),), num_heads=2)
    attention, states = build_attention(settings, 4, 4).double(), random(2, 9, 4)
    memory_, queries = attention.remember(states), attention.heads.queries(states)
    band = torch.ones(9, 9, dtype=torch.bool).tril(2).triu(-2)
    context = functional.scaled_dot_product_attention(queries, memory_.keys, memory_.values, attn_mask=band)
    assert_agrees("A24", attention(states, memory_).context, attention.heads.join(context))


def test_a_window_of_nothing_but_itself_reads_its_own_value():
    seen = memory(5)
    attention = Attention(DotScore(DIM, DIM), WindowSpan(DIM, DIM, radius=0), SoftmaxWeighting(DIM))
    assert torch.equal(attention(random(1, 5, DIM), seen).context, seen.values)


@pytest.mark.parametrize("radius", [0, 2, 30])
def test_a_monotonic_window_by_hand(radius, assert_agrees):
    """Query t stands at t, and at the last key that may be looked at when the source has ended before."""
    queries, seen = random(4, 8, DIM), memory(6, [6, 3, 1, 0])
    weights = weights_of(LocalMonotonicSpan(DIM, DIM, radius=radius), queries, seen)
    wanted = torch.zeros(4, 8, 6, dtype=torch.float64)
    for row, length in enumerate([6, 3, 1, 0]):
        for time in range(8):
            middle = min(time, length - 1)
            shown = [key for key in range(length) if abs(key - middle) <= radius]
            wanted[row, time, shown] = (seen.keys[row, shown] @ queries[row, time]).softmax(dim=0)
    assert_agrees("A13", weights, wanted)


def test_a_monotonic_window_ends_at_the_last_key_that_may_be_looked_at_wherever_others_are_hidden():
    mask = torch.tensor([[False, True, False, True, False]])
    seen = memory(5)._replace(mask=mask)
    shown = LocalMonotonicSpan(DIM, DIM, radius=1)(random(1, 6, DIM), seen, 0).mask[0]
    assert [row.nonzero().flatten().tolist() for row in shown] == [[1], [1], [1, 3], [3], [3], [3]]


def test_a_monotonic_gaussian_by_hand():
    span = LocalMonotonicSpan(DIM, DIM, radius=2, gaussian=True)
    gain = span(random(1, 2, DIM), memory(4), 1).gain  # the second and the third query
    wanted = [[math.exp(-((key - time) ** 2) / 2) for key in range(4)] for time in (1, 2)]
    assert_close(gain, torch.tensor(wanted, dtype=torch.float64))


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


@pytest.mark.parametrize("keys", [6, 70])  # plain products, and torch's fused attention
def test_the_past_is_all_that_a_causal_query_can_see(keys, assert_agrees):
    """The oracle is torch's own causal attention; the future has no gradient at all and no bit of influence."""
    attention = build_attention(AttentionSettings(num_heads=2), 4, 4, causal=True).double()
    states = random(2, keys, 4).requires_grad_()
    context, seen = attention(states, attention.remember(states)).context, attention.remember(states)
    split = attention.heads.queries(states)
    wanted = functional.scaled_dot_product_attention(split, seen.keys, seen.values, is_causal=True)
    assert_agrees("A23", context, attention.heads.join(wanted))
    for place in (0, 1, keys // 2, keys - 2):
        (gradient,) = torch.autograd.grad(context[:, place].sum(), states, retain_graph=True)
        assert torch.equal(gradient[:, place + 1 :], torch.zeros_like(gradient[:, place + 1 :]))
        changed = torch.cat([states[:, : place + 1], random(2, keys - place - 1, 4)], dim=1)
        again = attention(changed, attention.remember(changed)).context
        assert torch.equal(again[:, : place + 1], context[:, : place + 1])


class Marked(Span):
    """Shows, adds, multiplies and reads what it is told to."""

    def __init__(self, view: View) -> None:
        super().__init__()
        self.view = view

    def view_at(self, queries: Tensor, memory: Memory, past: object, places: Tensor) -> View:
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
