"""Compiled attention of short sentences equals the plain formula, forward and backward."""

import pytest
import torch
from builds import BUILDS, build_for
from torch import Tensor
from torch.testing import assert_close

from regard.attention import SCORES, SPANS
from regard.attention.attention import Attention, Heads
from regard.attention.kernels import short
from regard.attention.weightings.softmax import SoftmaxWeighting
from regard.ops.plain import plain
from regard.registry import Choice
from regard.runtime.compiled import library

pytestmark = pytest.mark.skipif(library(short.ATTENTION_SOURCE) is None, reason="this machine has no compiler")


@pytest.fixture
def calls(monkeypatch) -> list[int]:
    """One entry for each call of the compiled code."""
    counted, run = [], short._ShortAttention.apply
    monkeypatch.setattr(short._ShortAttention, "apply", lambda *given: counted.append(1) or run(*given))
    return counted


def attention(dim: int, heads: int, score: str = "scaled_dot", span: str = "everywhere") -> Attention:
    each = dim // heads
    parts = SCORES.build(Choice(score), each, each), SPANS.build(Choice(span), each, each), SoftmaxWeighting(each)
    return Attention(*parts, Heads(dim, dim, num_heads=heads))


def learned(module: Attention, queries: Tensor, states: Tensor, mask: Tensor | None) -> list[Tensor]:
    """The contexts, and the gradients of all that has one."""
    given = [queries, states, *module.parameters()]
    context = module(queries, module.remember(states, mask=mask)).context
    return [context, *torch.autograd.grad(context.sin().sum(), given)]


@pytest.mark.parametrize("span", ["everywhere", "causal"])
@pytest.mark.parametrize(
    ("heads", "dim", "queries", "keys"),
    [(4, 64, 7, 5), (2, 64, 1, 16), (1, 32, 17, 17), (8, 512, 33, 33), (2, 96, 64, 64), (2, 32, 100, 3)],
    ids=str,
)
def test_short_attention_is_the_formula(span, heads, dim, queries, keys, calls):
    keys = queries if span == "causal" and queries <= short.SHORT_KEYS else keys
    module = attention(dim, heads, span=span)
    asked, states = (torch.randn(3, count, dim, requires_grad=True) for count in (queries, keys))
    mask = torch.rand(3, keys) < 0.7
    mask[:, 0] = True
    found = learned(module, asked, states, mask)
    assert calls
    with plain():
        exact = learned(module.double(), *(one.detach().double().requires_grad_() for one in (asked, states)), mask)
    assert_close([one.double() for one in found], exact, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("build", BUILDS)
def test_other_processors_find_the_same(build, monkeypatch, calls):
    made = build_for(build, monkeypatch)(short.ATTENTION_SOURCE)
    monkeypatch.setattr(short, "library", lambda *_: made)
    module, states = attention(64, 2), torch.randn(3, 13, 64, requires_grad=True)
    mask = torch.arange(13) < torch.tensor([[13], [4], [0]])
    found = learned(module, states, states, mask)
    assert calls
    with plain():
        assert_close(found, learned(module, states, states, mask), rtol=1e-4, atol=1e-4)


def test_query_that_sees_nothing_gets_zeros(calls):
    queries, keys, values = (torch.randn(2, 2, 3, 32, requires_grad=True) for _ in range(3))
    mask = torch.tensor([[True, True, False], [False, False, False]]).view(2, 1, 1, 3)
    context = short.by_short(queries, short.Memory(keys, values, None), mask, 1.0)
    gradients = torch.autograd.grad(context.sum(), (queries, keys, values))
    assert not context[1].any()
    assert not any(one[1].any() for one in gradients)
    assert all(one.isfinite().all() for one in (context, *gradients))


def test_threads_change_nothing():
    module, states = attention(128, 4), torch.randn(5, 9, 128, requires_grad=True)
    found, before = [], torch.get_num_threads()
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            found.append(learned(module, states, states, None)[0])
    finally:
        torch.set_num_threads(before)
    assert_close(*found)


@pytest.mark.parametrize("score", ["bilinear", "additive"])
def test_other_scores_are_computed_otherwise(score, calls):
    learned(attention(64, 2, score), *[torch.randn(2, 5, 64, requires_grad=True)] * 2, None)
    assert not calls


def test_long_double_and_recorded_are_computed_otherwise(calls):
    module, states = attention(64, 2), torch.randn(2, 5, 64, requires_grad=True)
    long = torch.randn(2, short.SHORT_KEYS + 1, 64, requires_grad=True)
    learned(module, states, long, None)
    module(states, module.remember(states), need_weights=True)
    with torch.no_grad():
        module(states, module.remember(states))
    learned(module.double(), *[states.double()] * 2, None)
    assert not calls
