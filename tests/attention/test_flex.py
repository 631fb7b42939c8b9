"""Flex attention: what can be proved of it without a GPU."""

import pytest
import torch
from windowed import DIM, HEADS, SPANS_HERE, padded, small

from regard.attention import SCORES, SPANS, Attention, Memory
from regard.attention.kernels.choose import by_flex, may_flex
from regard.attention.weightings.softmax import SoftmaxWeighting
from regard.ops.plain import plain


@pytest.mark.filterwarnings("ignore:flex_attention called without")  # on purpose: its fused form needs a GPU
@pytest.mark.parametrize("span", ["band", "sparse", "dilated", "same-position", "monotonic"])
def test_flex_attention_equals_the_plain_path(span, assert_agrees):
    """Its values; it has no gradients on a CPU."""
    dim = 16
    parts = SCORES.build(small("scaled_dot"), dim, dim), SPANS.build(SPANS_HERE[span], dim, dim), SoftmaxWeighting(dim)
    attention, queries = Attention(*parts), torch.randn(3, HEADS, 140, dim)
    memory = attention.remember(torch.randn(3, HEADS, 300, dim), mask=padded(3, HEADS, 300))
    past = attention.begin(queries, memory)
    with plain():
        wanted = attention(queries, memory).context
    window = attention.span.window(queries, memory, past[1])
    context = by_flex(attention.parts, queries, memory, window, past, compiled=False)
    assert context is not None
    assert_agrees("A24", context, wanted, tolerance=1e-5)


@pytest.mark.parametrize("span", ["predictive", "monotonic-gaussian", "monotonic-normal"])
def test_flex_attention_leaves_windows_with_a_gaussian_to_others(span):
    parts = SCORES.build(small("dot"), DIM, DIM), SPANS.build(SPANS_HERE[span], DIM, DIM), SoftmaxWeighting(DIM)
    attention, queries = Attention(*parts), torch.randn(1, 1, 9, DIM)
    memory = attention.remember(queries)
    past = attention.begin(queries, memory)
    window = attention.span.window(queries, memory, past[1])
    assert by_flex(attention.parts, queries, memory, window, past) is None


def test_flex_attention_is_left_alone_on_a_cpu():
    """It has no gradients there."""
    parts = SCORES.build(small("dot"), 16, 16), SPANS.build(SPANS_HERE["band"], 16, 16), SoftmaxWeighting(16)
    queries = torch.randn(1, 1, 200, 16)
    memory = Memory(queries, queries, None)
    assert not may_flex(parts, queries, memory, parts[1].window(queries, memory, 0), 0.0)
