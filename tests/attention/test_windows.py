"""Windows on the fast path, where few keys are copied, equal a mask over all of them: values, weights and gradients."""

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close
from windowed import DIM, HEADS, SPANS_HERE, padded, random, small

from regard.attention import SCORES, SPANS, WEIGHTINGS, Attention, Memory, Span, View
from regard.attention.kernels import choose
from regard.attention.parts import AllOf, Attended, Window
from regard.attention.weightings.softmax import SoftmaxWeighting
from regard.models import AttentionSettings, build_attention
from regard.ops.plain import plain
from regard.registry import Choice

FIELDS = ("mask", "bias", "gain", "values")
CHOSEN = [fields for count in range(5) for fields in itertools.combinations(FIELDS, count)]


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A window however small the memory, where there is one at all; tells how often it was used."""
    used: list[int] = []
    by_window = choose.by_window

    def counting(*arguments: Any, **settings: Any) -> Attended:
        used.append(1)
        return by_window(*arguments, **settings)

    for name in ("ROOM_OF_SCORES", "ROOM_OF_PRODUCTS", "ROOM_OF_COPIES", "SHORT_MEMORY", "LONG_MEMORY"):
        monkeypatch.setattr(choose, name, 0)
    monkeypatch.setattr(choose, "by_window", counting)
    return used


def check(attention: Attention, queries: Tensor, keys: Tensor, mask: Tensor | None, past: Any = None) -> None:
    """The fast path equals the plain one."""

    def run() -> list[Tensor]:
        seen = attention(queries, attention.remember(keys, mask=mask), past, need_weights=True)
        assert seen.weights is not None
        wanted = (queries, keys, *attention.parameters())
        gradients = torch.autograd.grad(seen.context.square().sum(), wanted, materialize_grads=True)
        return [seen.context, seen.weights, *gradients]

    fast = run()
    with plain():
        assert_close(fast, run())


@pytest.mark.parametrize("masked", [False, True], ids=["whole", "padded"])
@pytest.mark.parametrize(("num_queries", "num_keys"), [(1, 70), (5, 131), (64, 64), (131, 70), (70, 150), (150, 150)])
@pytest.mark.parametrize("span", SPANS_HERE)
def test_a_window_equals_a_mask_over_all_keys(span, num_queries, num_keys, masked, windows):
    for score, heads in (("scaled_dot", HEADS), ("additive", 0)):
        made = SPANS.build(SPANS_HERE[span], DIM, DIM)
        attention = Attention(SCORES.build(small(score), DIM, DIM), made, SoftmaxWeighting(DIM)).double()
        lead = (3, heads) if heads else (3,)
        queries = random(*lead, num_queries, DIM).requires_grad_()
        keys = random(*lead, num_keys, DIM).requires_grad_()
        check(attention, queries, keys, padded(3, heads, num_keys) if masked else None)
    assert len(windows) == 2


@pytest.mark.parametrize("before", [0, 1, 60, 149, 200])
@pytest.mark.parametrize("span", [name for name in SPANS_HERE if not name.startswith("predictive")])
def test_a_step_with_a_cache_starts_where_the_last_one_ended(span, before, windows):
    made = SPANS.build(SPANS_HERE[span], DIM, DIM)
    attention = Attention(SCORES.build(small("dot"), DIM, DIM), made, SoftmaxWeighting(DIM)).double()
    for count in (1, 3):
        queries, keys = random(2, count, DIM).requires_grad_(), random(2, 150, DIM).requires_grad_()
        check(attention, queries, keys, padded(2, 0, 150), (None, before, None))
    assert len(windows) == 2


@pytest.mark.parametrize("heads", [0, HEADS])
@pytest.mark.parametrize(
    "others", [("causal",), ("everywhere",), ("alibi",), ("relative",), ("causal", "same_position")]
)
def test_windows_joined_with_other_spans(others, heads, windows):
    chosen = [*(Choice(name) for name in others), SPANS_HERE["sparse"]]
    joined = AllOf([SPANS.build(choice, DIM, DIM) for choice in chosen])
    attention = Attention(SCORES.build(small("dot"), DIM, DIM), joined, SoftmaxWeighting(DIM)).double()
    lead = (2, heads) if heads else (2,)
    queries, keys = random(*lead, 70, DIM).requires_grad_(), random(*lead, 70, DIM).requires_grad_()
    check(attention, queries, keys, padded(2, heads, 70))
    check(attention, queries[..., :1, :], keys, None, (None, (40,) * len(chosen), None))
    assert len(windows) == 2


class Near(Span):
    """Keys at most two places from a query's own, with what it is told of them."""

    def __init__(self, view: View) -> None:
        super().__init__()
        self.view = view  # of the five places -2 … 2

    def window(self, queries: Tensor, memory: Memory, past: object) -> Window:
        return Window(torch.arange(queries.shape[-2]) - 2, 5, steady=True)

    def view_at(self, queries: Tensor, memory: Memory, past: object, places: Tensor) -> View:
        offset = places - torch.arange(queries.shape[-2]).unsqueeze(-1)
        near, index = offset.abs() <= 2, offset.clamp(-2, 2) + 2
        mask, bias, gain, values = self.view
        return View(
            near if mask is None else near & mask[index],
            None if bias is None else bias[:, index],
            None if gain is None else gain[index],
            None if values is None else values[index],
        )


TOLD = ["dot", "additive"]


def not_sequential(kind: Any) -> list[str]:
    return [name for name in kind if not kind[name].sequential]


@pytest.mark.parametrize(
    ("score", "fields"),
    [(score, fields) for score in TOLD for fields in CHOSEN]
    + [(score, FIELDS) for score in not_sequential(SCORES) if score not in TOLD],
)
def test_whatever_is_said_of_a_few_keys(score, fields, windows):
    told = View(torch.tensor([True, False, True, True, True]), random(HEADS, 5), torch.rand(5).double(), random(5, DIM))
    span = Near(View(**{name: getattr(told, name) for name in fields}))
    attention = Attention(SCORES.build(small(score), DIM, DIM), span, SoftmaxWeighting(DIM)).double()
    queries, keys = random(2, HEADS, 50, DIM).requires_grad_(), random(2, HEADS, 90, DIM).requires_grad_()
    check(attention, queries, keys, padded(2, HEADS, 90))
    place = (
        attention.score.by_place and attention.score.inner(queries, keys, attention.score.begin(queries, None)) is None
    )
    assert bool(windows) != place


@pytest.mark.parametrize("name", not_sequential(WEIGHTINGS))
def test_any_weighting_of_a_few_keys(name, windows):
    span = SPANS.build(SPANS_HERE["band"], DIM, DIM)
    attention = (
        Attention(SCORES.build(Choice("dot"), DIM, DIM), span, WEIGHTINGS.build(Choice(name), DIM)).double().eval()
    )
    check(attention, random(2, 50, DIM).requires_grad_(), random(2, 90, DIM).requires_grad_(), padded(2, 0, 90))
    assert windows


@pytest.mark.parametrize("score", ["dot", "additive"])
@pytest.mark.parametrize("span", ["band", "dilated", "monotonic", "predictive"])
def test_gradients_through_a_window_are_those_of_finite_differences(span, score, windows):
    made = SPANS.build(SPANS_HERE[span], DIM, DIM)
    attention = Attention(SCORES.build(small(score), DIM, DIM), made, SoftmaxWeighting(DIM)).double()
    mask = padded(2, 0, 12)

    def context(queries: Tensor, keys: Tensor) -> Tensor:
        return attention(queries, attention.remember(keys, mask=mask)).context

    few = random(2, 8, DIM).requires_grad_(), random(2, 12, DIM).requires_grad_()
    assert torch.autograd.gradcheck(context, few, fast_mode=True)
    assert windows


def test_a_decoders_own_attention_may_be_windowed(windows):
    """Causal and window joined by the builder, through projections of heads; and step by step with a growing cache."""
    settings = AttentionSettings(span=(SPANS_HERE["band"],), num_heads=HEADS)
    attention = build_attention(settings, DIM, DIM, causal=True).double()
    states = random(2, 90, DIM)
    whole = attention(states, attention.remember(states)).context
    with plain():
        assert_close(attention(states, attention.remember(states)).context, whole)
    past, steps = None, []
    for place in range(90):
        seen = attention(states[:, place : place + 1], attention.remember(states[:, : place + 1]), past)
        past = seen.past
        steps.append(seen.context)
    assert_close(torch.cat(steps, dim=1), whole)
    assert windows


def test_nothing_reaches_a_query_from_outside_its_window(windows):
    attention = build_attention(AttentionSettings(span=(SPANS_HERE["band"],), num_heads=HEADS), DIM, DIM).double()
    states = random(1, 80, DIM).requires_grad_()
    context = attention(states.detach(), attention.remember(states)).context
    (gradient,) = torch.autograd.grad(context[0, 40].sum(), states)
    reached = gradient[0].abs().sum(dim=-1) > 0
    assert reached.nonzero().flatten().tolist() == list(range(37, 44))
    assert windows
