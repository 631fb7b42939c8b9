"""The score of nothing: a mean, whatever is asked."""

import pytest
import torch
from torch.testing import assert_close

from regard.models import AttentionSettings, build_attention
from regard.registry import Choice

MASK = torch.tensor([[True, True, True], [True, False, True], [False, False, False]])


@pytest.mark.parametrize("num_heads", [1, 2])
def test_the_context_is_the_mean_of_what_is_seen(num_heads):
    attention = build_attention(AttentionSettings(score=Choice("uniform"), num_heads=num_heads), 4, 6).double()
    queries, states = torch.randn(3, 2, 4).double(), torch.randn(3, 3, 6).double()
    values = states if attention.heads is None else attention.heads.keys_and_values(states, None)[1]
    attended = attention(queries, attention.remember(states, mask=MASK), need_weights=True)
    shares = MASK.double() / MASK.sum(dim=-1, keepdim=True).clamp(min=1)
    wanted = shares.view(3, *[1] * (values.dim() - 2), 3) @ values
    joined = wanted if attention.heads is None else attention.heads.join(wanted)
    assert_close(attended.context, joined.expand(3, 2, -1))


@pytest.mark.parametrize("score", ["bilinear", "additive"])
def test_coupling_by_position_needs_no_weights(score):
    """Any score gives the same, and its weights have no gradient."""
    span = (Choice("same_position"),)
    made = build_attention(AttentionSettings(score=Choice(score), span=span), 4, 6).double()
    plain = build_attention(AttentionSettings(score=Choice("uniform"), span=span), 4, 6).double()
    queries, states = torch.randn(3, 4, 4).double(), torch.randn(3, 3, 6).double()
    contexts = [one(queries, one.remember(states, mask=MASK)).context for one in (made, plain)]
    assert_close(*contexts)
    contexts[0].square().sum().backward()
    assert all(one.grad is None or bool((one.grad == 0).all()) for one in made.parameters())
    assert not [*plain.parameters()]
