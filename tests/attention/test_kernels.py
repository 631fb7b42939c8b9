"""The order of the read: scores + bias → mask → weighting → × gain → read, on every path and for any view."""

import itertools

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention import Attention, Memory, Span, View
from regard.attention.scores.scaled_dot import ScaledDotScore
from regard.attention.weightings.softmax import SoftmaxWeighting
from regard.models import AttentionSettings, build_attention
from regard.ops.plain import plain
from regard.registry import Choice

BATCH, HEADS, QUERY, DIM = 2, 2, 3, 4
FIELDS = ("mask", "bias", "gain", "values")
CHOSEN = [fields for count in range(5) for fields in itertools.combinations(FIELDS, count)]


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


class Told(Span):
    """Shows what it is told to."""

    def __init__(self, view: View) -> None:
        super().__init__()
        self.view = view

    def view_at(self, queries: Tensor, memory: Memory, past: object, places: Tensor) -> View:
        return self.view


def view_of(fields: tuple[str, ...], keys: int) -> View:
    """A mask of each row, the same for all heads, with a row that shows nothing; a bias of each head, the same for all
    rows; a gain of each query; vectors of each pair of places."""
    mask = torch.rand(BATCH, 1, 1, keys) < 0.5
    mask[0] = False
    mask[1, ..., 0] = True
    made = View(mask, random(HEADS, QUERY, keys), torch.rand(QUERY, 1).double(), random(QUERY, keys, DIM))
    return View(**{name: getattr(made, name) for name in fields})


def loops(queries: Tensor, keys: Tensor, values: Tensor, view: View) -> Tensor:
    """The formula, one query of one head at a time."""
    context, places = torch.zeros(BATCH, HEADS, QUERY, DIM, dtype=torch.float64), keys.shape[-2]
    full = (BATCH, HEADS, QUERY, places)
    mask = torch.ones(full, dtype=torch.bool) if view.mask is None else view.mask.expand(full)
    bias = torch.zeros(full).double() if view.bias is None else view.bias.expand(full)
    gain = torch.ones(full).double() if view.gain is None else view.gain.expand(full)
    for row, head, query in itertools.product(range(BATCH), range(HEADS), range(QUERY)):
        at = row, head, query
        shown = mask[at].nonzero().flatten()
        scores = keys[row, head, shown] @ queries[at] / DIM**0.5 + bias[at][shown]
        read = values[row, head, shown] if view.values is None else values[row, head, shown] + view.values[query, shown]
        context[at] = (scores.softmax(dim=0) * gain[at][shown]) @ read
    return context


@pytest.mark.parametrize("keys", [5, 80])  # plain products, and torch's fused attention
@pytest.mark.parametrize("fields", CHOSEN, ids="-".join)
def test_any_view_equals_loops_on_the_fast_and_on_the_plain_path(fields, keys, assert_agrees):
    view, queries = view_of(fields, keys), random(BATCH, HEADS, QUERY, DIM).requires_grad_()
    seen = Memory(random(BATCH, HEADS, keys, DIM).requires_grad_(), random(BATCH, HEADS, keys, DIM), None)
    attention = Attention(ScaledDotScore(DIM, DIM), Told(view), SoftmaxWeighting(DIM))
    wanted = loops(queries, seen.keys, seen.values, view)
    fast = attention(queries, seen).context
    with plain():
        slow = attention(queries, seen).context
    assert_agrees("A01", fast, wanted)
    assert_agrees("A01", slow, wanted)
    gradients = [torch.autograd.grad(one.square().sum(), (queries, seen.keys)) for one in (fast, slow, wanted)]
    assert_close(gradients[0], gradients[2])
    assert_close(gradients[1], gradients[2])


@pytest.mark.parametrize("span", ["everywhere", "local_monotonic"])
@pytest.mark.parametrize("keys", [5, 80])
def test_weights_are_those_before_dropout_and_dropout_drops_weights(keys, span):
    settings = AttentionSettings(span=(Choice(span),), num_heads=2, dropout=0.5)
    attention = build_attention(settings, DIM, DIM).double().train()
    queries, states = random(400, 1, DIM), random(400, keys, DIM)
    attended = attention(queries, attention.remember(states), need_weights=True)
    assert_close(attended.weights.sum(dim=-1), torch.ones(400, 2, 1, dtype=torch.float64))
    exact = attention.eval()(queries, attention.remember(states)).context
    assert not torch.allclose(attended.context, exact)
    assert (attended.context - exact).mean().abs() < 0.1  # inverted dropout: the mean stays


@pytest.mark.parametrize("keys", [5, 80])
def test_the_plain_path_can_be_differentiated_twice(keys):
    attention = build_attention(AttentionSettings(num_heads=2), DIM, DIM).double()
    mask = torch.arange(keys) < torch.tensor([[keys], [0]])

    def context(queries: Tensor, states: Tensor) -> Tensor:
        with plain():
            return attention(queries, attention.remember(states, mask=mask)).context

    few = random(BATCH, 1, DIM).requires_grad_(), random(BATCH, keys, DIM)
    assert torch.autograd.gradgradcheck(context, few)


@pytest.mark.parametrize("fields", [(), ("mask",), ("bias",), ("mask", "bias")], ids="-".join)
def test_without_heads_the_fused_attention_is_one_of_one_head(fields, monkeypatch):
    keys = 80
    view = view_of(fields, keys)
    flat = View(*(None if one is None else one.expand(BATCH, HEADS, QUERY, keys)[:, 0] for one in view[:2]))
    queries, memory = random(BATCH, QUERY, DIM), Memory(random(BATCH, keys, DIM), random(BATCH, keys, DIM), None)
    attention = Attention(ScaledDotScore(DIM, DIM), Told(flat), SoftmaxWeighting(DIM))
    axes = []
    fused = torch.nn.functional.scaled_dot_product_attention

    def seen(queries: Tensor, *rest: Tensor, **settings: object) -> Tensor:
        axes.append(queries.dim())
        return fused(queries, *rest, **settings)

    monkeypatch.setattr("torch.nn.functional.scaled_dot_product_attention", seen)
    fast = attention(queries, memory).context
    with plain():
        assert_close(fast, attention(queries, memory).context)
    assert axes == [4]  # with three torch holds all scores
