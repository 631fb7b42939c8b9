"""A mask for each query beside torch's own attention, and hidden keys whose scores are lowered in place of excluded."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch.testing import assert_close

from regard.attention import Attention
from regard.models import AttentionSettings, build_attention
from regard.registry import Choice

DIM = 8
KEYS = torch.arange(5) < torch.tensor([[5], [3]])


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def per_query(queries: int, keys: int = 5) -> Tensor:
    """(batch, query, key): a key is visible or not by chance, the first one always."""
    shown = torch.rand(2, queries, keys) < 0.5
    shown[..., 0] = True
    return shown


def build(**settings: object) -> Attention:
    return build_attention(AttentionSettings(**settings), DIM, DIM).double().eval()


@pytest.mark.parametrize("num_heads", [1, 2])
@pytest.mark.parametrize("keys", [5, 90])  # few keys and many take different paths
def test_a_mask_for_each_query_is_torchs(num_heads, keys):
    attention = build(num_heads=num_heads, project=True)
    queries, states, shown = random(2, 4, DIM), random(2, keys, DIM), per_query(4, keys)
    padding = torch.arange(keys) < torch.tensor([[keys], [3]])
    found = attention(queries, attention.remember(states, mask=padding), mask=shown)
    heads = attention.heads
    split = [heads.queries(queries), *heads.keys_and_values(states, None)]
    visible = (shown & padding.unsqueeze(1)).unsqueeze(1)
    assert_close(found.context, heads.join(functional.scaled_dot_product_attention(*split, attn_mask=visible)))


@pytest.mark.parametrize("span", ["everywhere", "window", "forced_forward"])
def test_a_key_hidden_from_one_query_cannot_change_it(span):
    attention = build(span=(Choice(span),))
    queries, states, shown = random(2, 4, DIM), random(2, 5, DIM), torch.ones(2, 4, 5, dtype=torch.bool)
    shown[:, 3, 1] = False
    changed = states.clone()
    changed[:, 1] = 1e3
    first, second = (
        attention(queries, attention.remember(states, some), mask=shown, need_weights=True)
        for some in (states, changed)
    )
    assert bool((first.weights[:, 3, 1] == 0).all())
    assert_close(first.context[:, 3], second.context[:, 3])


def test_a_query_from_which_all_is_hidden_gets_zeros():
    attention, queries = build(), random(2, 4, DIM).requires_grad_()
    shown = per_query(4)
    shown[1, 2] = False
    context = attention(queries, attention.remember(random(2, 5, DIM), mask=KEYS), mask=shown).context
    assert bool((context[1, 2] == 0).all())
    context.sum().backward()
    assert bool(queries.grad.isfinite().all())


@pytest.fixture
def lowered() -> Attention:
    return build(score=Choice("dot"), weighting=Choice("softmax", {"mask_mode": "subtract"}))


def test_subtracting_is_excluding_where_a_key_is_seen(lowered):
    queries, states, usual = random(2, 4, DIM), random(2, 5, DIM), build(score=Choice("dot"))
    found, wanted = (one(queries, one.remember(states, mask=KEYS), need_weights=True) for one in (lowered, usual))
    assert bool((found.weights[1, :, 3:] == 0).all())
    assert_close((found.weights, found.context), (wanted.weights, wanted.context))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_row_whose_keys_are_all_lowered_weighs_them_all(lowered, dtype):
    queries, states = random(1, 4, DIM).to(dtype), random(1, 5, DIM).to(dtype)
    nothing = torch.zeros(1, 5, dtype=torch.bool)
    attention = lowered.to(dtype)
    found = attention(queries, attention.remember(states, mask=nothing), need_weights=True).weights
    scores = queries @ states.mT
    wanted = torch.full_like(scores, 0.2) if dtype == torch.float32 else scores.softmax(dim=-1)
    assert_close(found, wanted, rtol=0, atol=1e-5)
