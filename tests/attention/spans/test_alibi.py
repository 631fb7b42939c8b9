"""Linear biases against a loop over heads and places."""

import pytest
import torch
from torch.testing import assert_close

from regard.attention import Memory
from regard.attention.spans.alibi import AlibiSpan
from regard.models import AttentionSettings, build_attention
from regard.ops.plain import plain
from regard.registry import Choice


@pytest.mark.parametrize("num_heads", [1, 3, 8])
@pytest.mark.parametrize("past", [0, 4])
def test_biases_are_those_of_a_loop(num_heads, past, assert_agrees):
    queries, keys = torch.randn(2, num_heads, 3, 4).double(), torch.randn(2, num_heads, 7, 4).double()
    view = AlibiSpan(4, 4)(queries, Memory(keys, keys, None), past)
    wanted = torch.empty(num_heads, 3, 7, dtype=torch.float64)
    for head in range(num_heads):
        for query in range(3):
            for key in range(7):
                wanted[head, query, key] = -(2 ** (-8 * (head + 1) / num_heads)) * abs(past + query - key)
    assert_agrees("B20", view.bias, wanted.unsqueeze(0))
    assert view.mask is None


def test_eight_heads_have_the_slopes_of_the_paper():
    keys = torch.zeros(1, 8, 2, 1)
    bias = AlibiSpan(1, 1)(keys, Memory(keys, keys, None), 0).bias
    assert bias[0, :, 1, 0].tolist() == [-(2.0**-power) for power in range(1, 9)]


def test_without_a_head_axis_there_is_one_head():
    keys = torch.zeros(5, 3, 4)
    assert_close(AlibiSpan(4, 4)(keys, Memory(keys, keys, None), 0).bias[0, 0], -torch.tensor([0, 1, 2]) / 256)


def test_distances_stay_whole_in_half_precision():
    keys = torch.zeros(1, 8, 700, 1, dtype=torch.bfloat16)
    bias = AlibiSpan(1, 1)(keys, Memory(keys, keys, None), 0).bias
    assert bias.dtype == torch.bfloat16
    assert bias[0, 0, 0, 515] == torch.tensor(-257.5).bfloat16()


def test_places_named_alone_have_the_biases_they_have_among_all():
    queries, keys, span = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 9, 4), AlibiSpan(4, 4)
    seen, places = Memory(keys, keys, None), torch.tensor([[0, 2], [8, 1], [4, 5]])
    everything = span(queries, seen, 2).bias
    assert_close(span.view_at(queries, seen, 2, places).bias, everything.gather(-1, places.expand(1, 2, 3, 2)))


def test_beside_a_window_over_many_keys_the_kernel_equals_the_plain_products():
    spans = (Choice("window", {"radius": 3}), Choice("alibi"))
    attention = build_attention(AttentionSettings(span=spans, num_heads=2), 4, 4).double()
    words = torch.randn(2, 150, 4, dtype=torch.float64)
    fast = attention(words, attention.remember(words)).context
    with plain():
        assert_close(fast, attention(words, attention.remember(words)).context)


def test_a_decoder_that_looks_back_equals_softmax_of_scores_less_the_distance():
    settings = AttentionSettings(score=Choice("dot"), span=(Choice("alibi"),), num_heads=2)
    attention = build_attention(settings, 4, 4, causal=True).double()
    inputs = torch.randn(2, 5, 4, dtype=torch.float64)
    weights = attention(inputs, attention.remember(inputs), need_weights=True).weights
    queries, (keys, _) = attention.heads.queries(inputs), attention.heads.keys_and_values(inputs, None)
    for head, slope in enumerate((2**-4, 2**-8)):
        for query in range(5):
            distance = torch.arange(query, -1, -1)
            scores = keys[:, head, : query + 1] @ queries[:, head, query, :, None]
            wanted = (scores.squeeze(-1) - slope * distance).softmax(dim=-1)
            assert_close(weights[:, head, query, : query + 1], wanted)
