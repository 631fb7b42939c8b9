"""Relative positions against a loop over equations 3 and 4 of the paper."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention import SPANS, Attention, Memory, extend
from regard.attention.parts import AllOf
from regard.attention.scores.dot import DotScore
from regard.attention.scores.scaled_dot import ScaledDotScore
from regard.attention.spans.causal import CausalSpan
from regard.attention.spans.everywhere import EverywhereSpan
from regard.attention.spans.relative import RelativeSpan
from regard.attention.weightings.softmax import SoftmaxWeighting
from regard.errors import ConfigError
from regard.models import AttentionSettings, build_attention
from regard.ops.plain import plain
from regard.registry import Choice

DIM = 4


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def looking(span: torch.nn.Module, score: type[torch.nn.Module] = ScaledDotScore) -> Attention:
    return Attention(score(DIM, DIM), span, SoftmaxWeighting(DIM)).double()


@torch.no_grad()
def by_loop(span: RelativeSpan, queries: Tensor, keys: Tensor, values: Tensor, scale: float) -> Tensor:
    """One sentence: e_ij = q_i (k_j + a^K)ᵀ · scale, z_i = sum_j softmax(e_i)_j (v_j + a^V)."""
    contexts = []
    for i, query in enumerate(queries):
        rows = [max(-span.max_distance, min(span.max_distance, j - i)) + span.max_distance for j in range(len(keys))]
        scores = [float(query @ (key + span.to_keys[row])) * scale for key, row in zip(keys, rows, strict=True)]
        total, context = sum(map(math.exp, scores)), torch.zeros_like(values[0])
        for value, row, score in zip(values, rows, scores, strict=True):
            place = 0 if span.to_values is None else span.to_values[row]
            context = context + math.exp(score) / total * (value + place)
        contexts.append(context)
    return torch.stack(contexts)


@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize("max_distance", [0, 2, 16])
def test_contexts_are_those_of_a_loop(max_distance, values, assert_agrees):
    attention = looking(RelativeSpan(DIM, DIM, max_distance=max_distance, values=values))
    queries, keys, lengths = random(3, 5, DIM), random(3, 7, DIM), [7, 4, 1]
    mask = torch.arange(7) < torch.tensor(lengths).unsqueeze(-1)
    contexts = attention(queries, attention.remember(keys, mask=mask)).context.detach()
    for row, length in enumerate(lengths):
        read = keys[row, :length]
        assert_agrees("B20", contexts[row], by_loop(attention.span, queries[row], read, read, DIM**-0.5))


def test_with_the_plain_dot_product_the_scale_is_one(assert_agrees):
    attention = looking(RelativeSpan(DIM, DIM, max_distance=2, scale=1.0), DotScore)
    queries, keys = random(1, 3, DIM), random(1, 4, DIM)
    contexts = attention(queries, attention.remember(keys)).context.detach()
    assert_agrees("B20", contexts[0], by_loop(attention.span, queries[0], keys[0], keys[0], 1.0))


@pytest.mark.parametrize("num_heads", [1, 2])
def test_heads_share_the_tables(num_heads, assert_agrees):
    span = Choice("relative", {"max_distance": 2})
    attention = build_attention(AttentionSettings(span=(span,), num_heads=num_heads, project=True), 8, 8).double()
    inputs = random(2, 5, 8)
    queries, (keys, values) = attention.heads.queries(inputs), attention.heads.keys_and_values(inputs, None)
    dim = 8 // num_heads
    heads = [
        [by_loop(attention.span, *(some[row, head] for some in (queries, keys, values)), dim**-0.5) for row in range(2)]
        for head in range(num_heads)
    ]
    wanted = torch.stack([torch.stack(rows) for rows in heads], dim=1)
    contexts = attention(inputs, attention.remember(inputs)).context
    assert_agrees("B20", contexts.detach(), attention.heads.join(wanted).detach())


def test_no_distance_at_all_is_a_constant_shift_and_changes_no_weight():
    """One row serves all places: the scores of a query move alike, and every context by a^V."""
    span, queries, keys = RelativeSpan(DIM, DIM, max_distance=0), random(2, 3, DIM), random(2, 5, DIM)
    placed, plain = looking(span), looking(EverywhereSpan(DIM, DIM))
    memory = placed.remember(keys)
    with_places, without = placed(queries, memory, need_weights=True), plain(queries, memory, need_weights=True)
    assert_close(with_places.weights, without.weights)
    assert_close(with_places.context, without.context + span.to_values[0])


def test_only_the_distance_counts():
    """The same words three places on, among words that may not be looked at, get the same contexts."""
    attention, words = looking(RelativeSpan(DIM, DIM, max_distance=2)), random(1, 4, DIM)
    wanted = attention(words, attention.remember(words)).context
    moved = torch.cat([random(1, 3, DIM), words], dim=1)
    memory = attention.remember(moved, mask=torch.arange(7).unsqueeze(0) >= 3)
    assert_close(attention(moved, memory).context[:, 3:], wanted)


def test_word_by_word_with_a_growing_memory_equals_the_whole():
    attention = looking(AllOf([CausalSpan(DIM, DIM), RelativeSpan(DIM, DIM, max_distance=2)]))
    words = random(2, 6, DIM)
    whole = attention(words, attention.remember(words)).context
    memory, past, steps = None, None, []
    for word in words.split(1, dim=1):
        memory = extend(memory, attention.remember(word))
        step = attention(word, memory, past)
        past = step.past
        steps.append(step.context)
    assert_close(torch.cat(steps, dim=1), whole)


def test_places_named_alone_have_the_view_they_have_among_all():
    span, queries, keys = RelativeSpan(DIM, DIM, max_distance=2), torch.randn(2, 3, DIM), torch.randn(2, 9, DIM)
    seen, places = Memory(keys, keys, None), torch.tensor([[0, 2], [8, 1], [4, 5]])
    whole, some = span(queries, seen, 4), span.view_at(queries, seen, 4, places)
    assert_close(some.bias, whole.bias.gather(-1, places.expand(2, 3, 2)))
    assert_close(some.values, whole.values.gather(-2, places.unsqueeze(-1).expand(3, 2, DIM)))


def test_beside_a_window_over_many_keys_the_kernel_equals_the_plain_products():
    spans = (Choice("window", {"radius": 3}), Choice("relative", {"max_distance": 2}))
    attention, words = build_attention(AttentionSettings(span=spans, num_heads=2), 8, 8).double(), random(2, 150, 8)
    mask = torch.arange(150) < torch.tensor([[150], [70]])
    fast = attention(words, attention.remember(words, mask=mask)).context
    with plain():
        assert_close(fast, attention(words, attention.remember(words, mask=mask)).context)


def test_both_tables_learn_as_finite_differences_say():
    attention, queries, keys = looking(RelativeSpan(DIM, DIM, max_distance=1)), random(2, 3, DIM), random(2, 4, DIM)

    def context(to_keys: Tensor, to_values: Tensor) -> Tensor:
        tables = {"span.to_keys": to_keys, "span.to_values": to_values}
        return torch.func.functional_call(attention, tables, (queries, attention.remember(keys))).context

    tables = tuple(table.detach().requires_grad_() for table in (attention.span.to_keys, attention.span.to_values))
    assert torch.autograd.gradcheck(context, tables)


def test_wrong_settings_are_refused():
    with pytest.raises(ConfigError, match=r"attention.span.max_distance: must be at least 0, not -1"):
        SPANS.build(Choice("relative", {"max_distance": -1}), DIM, DIM)
    attention = looking(RelativeSpan(DIM, DIM))
    memory = attention.remember(random(1, 3, DIM), random(1, 3, 6))
    with pytest.raises(ConfigError, match=r"values: places are 4 wide .* 6 \(use values: false, or heads"):
        attention(random(1, 2, DIM), memory)
