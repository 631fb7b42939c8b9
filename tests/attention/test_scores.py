"""The socket and its heads by hand, against loops and against torch's own; of each score see scores/."""

import math

import pytest
import torch
from torch import tensor
from torch.nn import functional
from torch.testing import assert_close

from regard.attention import Attention
from regard.attention.attention import Heads
from regard.attention.kernels.softmax import masked_softmax
from regard.attention.scores.additive import AdditiveScore
from regard.attention.scores.dot import DotScore
from regard.attention.scores.scaled_dot import ScaledDotScore
from regard.attention.spans.causal import CausalSpan
from regard.attention.spans.everywhere import EverywhereSpan
from regard.attention.weightings.softmax import SoftmaxWeighting
from regard.errors import ConfigError


def test_the_worked_example_of_attention_by_hand(assert_agrees):
    """Three encoder outputs and one decoder state: scores 1, 2, 0; softmax; the mixed vector."""
    attention = Attention(DotScore(2, 2), EverywhereSpan(2, 2), SoftmaxWeighting(2))
    keys = tensor([[[1.0, 0.0], [2.0, 5.0], [0.0, 3.0]]])
    attended = attention(tensor([[[1.0, 0.0]]]), attention.remember(keys), need_weights=True)
    parts = [math.exp(1), math.exp(2), math.exp(0)]
    weights = [part / sum(parts) for part in parts]
    assert_close(attended.weights, tensor([[weights]]))
    assert_agrees("A01", attended.context, tensor([[[weights[0] + 2 * weights[1], 5 * weights[1] + 3 * weights[2]]]]))


def test_scaled_dot_attention_equals_torch(assert_agrees):
    attention = Attention(ScaledDotScore(8, 8), CausalSpan(8, 8), SoftmaxWeighting(8)).double()
    queries, keys = torch.randn(2, 6, 8, dtype=torch.float64), torch.randn(2, 6, 8, dtype=torch.float64)
    wanted = functional.scaled_dot_product_attention(queries, keys, keys, is_causal=True)
    assert_agrees("A03", attention(queries, attention.remember(keys)).context, wanted)


def test_the_future_has_exactly_no_gradient():
    attention = Attention(ScaledDotScore(4, 4), CausalSpan(4, 4), SoftmaxWeighting(4))
    states = torch.randn(1, 5, 4, requires_grad=True)
    attention(states, attention.remember(states)).context[0, 2].sum().backward()
    assert states.grad is not None
    assert bool((states.grad[0, 3:] == 0).all()) and bool((states.grad[0, :3] != 0).any())


def test_large_scores_do_not_overflow_and_a_constant_changes_nothing():
    scores = torch.randn(3, 4, dtype=torch.float64)
    assert_close(masked_softmax(scores + 7.0, None), masked_softmax(scores, None))
    assert bool(masked_softmax(scores.float() * 1e4, None).isfinite().all())


@pytest.mark.parametrize("causal", [False, True])
def test_heads_equal_torch_multihead_attention_with_padding(causal, assert_agrees):
    reference = torch.nn.MultiheadAttention(8, 2, batch_first=True).double()
    heads = Heads(8, 8, num_heads=2).double()
    query, key, value = reference.in_proj_weight.chunk(3)
    biases = reference.in_proj_bias.chunk(3)
    for mine, weight, bias in zip(
        (heads.from_query, heads.from_key, heads.from_value), (query, key, value), biases, strict=True
    ):
        mine.weight.data, mine.bias.data = weight.data, bias.data
    heads.to_out.load_state_dict(reference.out_proj.state_dict())
    span = CausalSpan(4, 4) if causal else EverywhereSpan(4, 4)
    attention = Attention(ScaledDotScore(4, 4), span, SoftmaxWeighting(4), heads)
    queries, keys = torch.randn(2, 3, 8, dtype=torch.float64), torch.randn(2, 5, 8, dtype=torch.float64)
    mask, blocked = torch.arange(5) < tensor([[5], [2]]), torch.ones(3, 5, dtype=torch.bool).triu(1)
    wanted, weights = reference(
        queries,
        keys,
        keys,
        key_padding_mask=~mask,
        attn_mask=blocked if causal else None,
        average_attn_weights=False,
    )
    attended = attention(queries, attention.remember(keys, mask=mask), need_weights=True)
    assert_agrees("A23" if causal else "A32", attended.context, wanted)
    assert_agrees("A22", attended.weights, weights)


def test_heads_equal_a_loop_over_heads():
    heads = Heads(6, 5, num_heads=3).double()
    attention = Attention(AdditiveScore(2, 2), EverywhereSpan(2, 2), SoftmaxWeighting(2), heads).double()
    queries, keys = torch.randn(2, 3, 6, dtype=torch.float64), torch.randn(2, 4, 5, dtype=torch.float64)
    single = Attention(attention.score, attention.span, attention.weighting)
    split, (from_keys, from_values) = heads.queries(queries), heads.keys_and_values(keys, None)
    contexts = [
        single(split[:, head], single.remember(from_keys[:, head], from_values[:, head])).context for head in range(3)
    ]
    wanted = heads.to_out(torch.cat(contexts, dim=-1))
    assert_close(attention(queries, attention.remember(keys)).context, wanted)


def test_heads_may_be_of_any_width_read_other_values_and_stay_apart():
    """The worked example of eight heads of 16, without bias and output projection, one head at a time."""
    heads = Heads(6, 5, 3, num_heads=8, inner_dim=128, bias=False, out_proj=False).double()
    attention = Attention(ScaledDotScore(16, 16), EverywhereSpan(16, 16), SoftmaxWeighting(16), heads)
    queries, keys, values = (torch.randn(2, 4, dim, dtype=torch.float64) for dim in (6, 5, 3))
    context = attention(queries, attention.remember(keys, values)).context
    assert context.shape[-1] == heads.dim == attention.context_dim(3) == 128
    for head in range(8):
        rows = slice(16 * head, 16 * head + 16)
        q, k, v = (
            some @ linear.weight[rows].t()
            for some, linear in ((queries, heads.from_query), (keys, heads.from_key), (values, heads.from_value))
        )
        assert_close(context[..., rows], (q @ k.mT / 4).softmax(dim=-1) @ v)


def test_heads_that_do_not_divide_are_refused():
    with pytest.raises(ConfigError, match=r"3 heads do not divide dim 8.*1, 2, 4, 8"):
        Heads(8, 8, num_heads=3)


def test_self_attention_without_positions_is_permutation_equivariant(assert_agrees):
    attention = Attention(ScaledDotScore(4, 4), EverywhereSpan(4, 4), SoftmaxWeighting(4)).double()
    states, order = torch.randn(1, 5, 4, dtype=torch.float64), torch.randperm(5)
    moved = states[:, order]
    context = attention(states, attention.remember(states)).context
    assert_agrees("A21", attention(moved, attention.remember(moved)).context, context[:, order])
