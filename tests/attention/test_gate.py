"""The gate of a socket: how much of the context is let through is told by the query alone."""

import pytest
import torch
from torch.testing import assert_close

from regard.models import AttentionSettings, build_attention
from regard.registry import Choice

BATCH, QUERY, KEY, DIM = 2, 3, 5, 4


@pytest.mark.parametrize("num_heads", [1, 2])
@pytest.mark.parametrize("score", ["additive", "coverage"])  # all queries at once, and one by one
def test_the_context_is_multiplied_and_the_weights_stay(num_heads, score, assert_agrees):
    settings = AttentionSettings(score=Choice(score), num_heads=num_heads, gate=True)
    attention = build_attention(settings, DIM, DIM).double()
    queries = torch.randn(BATCH, QUERY, DIM, dtype=torch.float64)
    memory = attention.remember(torch.randn(BATCH, KEY, DIM, dtype=torch.float64))
    gated = attention(queries, memory, need_weights=True)
    gate, attention.gate = attention.gate, None
    free = attention(queries, memory, need_weights=True)
    share = torch.sigmoid(queries @ gate.weight[0] + gate.bias)
    assert_agrees("A28", gated.context.detach(), (share.unsqueeze(-1) * free.context).detach(), 1e-12)
    assert_close(gated.weights, free.weights, rtol=0, atol=0)


def test_gradients_are_those_of_finite_differences():
    attention = build_attention(AttentionSettings(gate=True), DIM, DIM).double()
    queries = torch.randn(BATCH, QUERY, DIM, dtype=torch.float64, requires_grad=True)
    keys = torch.randn(BATCH, KEY, DIM, dtype=torch.float64, requires_grad=True)
    mask = torch.arange(KEY) < torch.tensor([[5], [0]])
    assert torch.autograd.gradcheck(
        lambda q, k: attention(q, attention.remember(k, mask=mask)).context, (queries, keys)
    )
