"""The coverage score against a loop over words, heads and keys."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention import Attention
from regard.attention.scores.coverage import CoverageScore
from regard.models import AttentionSettings, build_attention
from regard.registry import Choice

STEPS, KEY, DIM = 4, 5, 6
LENGTHS = [5, 3]


def build(num_heads: int, fertility: float) -> Attention:
    score = Choice("coverage", {"hidden_dim": 3, "fertility": fertility})
    attention = build_attention(AttentionSettings(score=score, num_heads=num_heads), DIM, DIM).double()
    for parameter in attention.parameters():
        torch.nn.init.normal_(parameter)
    return attention


@pytest.fixture
def queries() -> Tensor:
    return torch.randn(2, STEPS, DIM, dtype=torch.float64)


@pytest.fixture
def keys() -> Tensor:
    return torch.randn(2, KEY, DIM, dtype=torch.float64)


@pytest.fixture
def mask() -> Tensor:
    return torch.arange(KEY) < torch.tensor(LENGTHS).unsqueeze(-1)


def loop(score: CoverageScore, queries: Tensor, keys: Tensor) -> tuple[Tensor, list[float]]:
    """queries (step, dim), keys (key, dim) of one sentence and head → weights (step, key) and coverage at the end."""
    shares = [1.0] * len(keys)
    if score.to_fertility is not None:
        shares = [score.fertility * torch.sigmoid(score.to_fertility(key)).item() for key in keys]
    coverage, rows = [0.0] * len(keys), []
    for query in queries:
        scores = []
        for key, seen in zip(keys, coverage, strict=True):
            hidden = score.from_query.weight @ query + score.from_key.weight @ key
            scores.append(score.to_score.weight[0] @ torch.tanh(hidden + score.from_coverage.weight[:, 0] * seen))
        rows.append(torch.stack(scores).softmax(dim=0))
        looked = zip(coverage, rows[-1].tolist(), shares, strict=True)
        coverage = [before + weight / share for before, weight, share in looked]
    return torch.stack(rows), coverage


@pytest.mark.parametrize("num_heads", [1, 2])
@pytest.mark.parametrize("fertility", [0.0, 2.0, 3.5])
def test_equals_a_loop_over_the_steps(num_heads, fertility, queries, keys, mask, assert_agrees):
    attention = build(num_heads, fertility)
    attended = attention(queries, attention.remember(keys, mask=mask), need_weights=True)
    weights, coverage = attended.weights, attended.past[0][0]
    heads = attention.heads
    if heads is None:
        queries, keys, weights, coverage = (one.unsqueeze(1) for one in (queries, keys, weights, coverage))
    else:
        queries, keys = heads.queries(queries), heads.keys_and_values(keys, None)[0]
    for row, length in enumerate(LENGTHS):
        for head in range(num_heads):
            wanted, end = loop(attention.score, queries[row, head], keys[row, head, :length])
            assert_agrees("A18", weights[row, head, :, :length], wanted)
            assert_close(coverage[row, head, :length].tolist(), end)


def test_without_fertility_coverage_is_the_sum_of_the_weights_so_far(queries, keys, mask):
    attention, past, total = build(1, 0.0), None, torch.zeros(2, KEY, dtype=torch.float64)
    assert attention.score.to_fertility is None
    memory = attention.remember(keys, mask=mask)
    for query in queries.split(1, dim=1):
        attended = attention(query, memory, past, need_weights=True)
        past, total = attended.past, total + attended.weights[:, 0]
        assert_close(past[0][0], total)


@pytest.mark.parametrize("fertility", [0.0, 2.0])
def test_keys_that_may_not_be_looked_at_stay_uncovered(fertility, queries, keys, mask):
    attention = build(2, fertility)
    coverage = attention(queries, attention.remember(keys, mask=mask)).past[0][0]
    assert bool((coverage[1, :, 3:] == 0).all()) and bool((coverage[1, :, :3] > 0).all())


@pytest.mark.parametrize("scale", [1e5, -1e5])
def test_no_padding_makes_coverage_or_gradients_infinite(scale, queries, keys, mask):
    """A fertility that is rounded to 0 divides nothing by 0, whatever stands under the padding."""
    attention = build(1, 2.0)
    keys = keys.masked_fill(~mask.unsqueeze(-1), scale).requires_grad_()
    attended = attention(queries, attention.remember(keys, mask=mask))
    attended.context.square().sum().backward()
    assert bool(attended.past[0][0].isfinite().all())
    assert all(bool(one.grad.isfinite().all()) for one in (keys, *attention.parameters()))


def test_what_was_looked_at_is_looked_at_less_where_coverage_counts_against_it():
    """Two equal keys and one better: with V < 0 the best, once covered, is looked at least."""
    score = CoverageScore(1, 1, hidden_dim=1, fertility=0.0).double()
    for linear, value in ((score.from_query, 0.0), (score.from_key, 1.0), (score.from_coverage, -1.0)):
        linear.weight.data.fill_(value)
    score.to_score.weight.data.fill_(4.0)
    base = build(1, 0.0)
    attention = Attention(score, base.span, base.weighting)
    keys = torch.tensor([[[0.0], [0.5], [0.0]]], dtype=torch.float64)
    queries = torch.zeros(1, 3, 1, dtype=torch.float64)
    weights = attention(queries, attention.remember(keys), need_weights=True).weights[0]
    assert weights[0].argmax() == 1 and weights[1, 1] < 1 / 3 < weights[0, 1]
    assert_close(weights[:, 0], weights[:, 2])


def test_coverage_is_kept_in_single_precision_at_least(queries, keys):
    attention = build(1, 0.0).bfloat16()
    memory = attention.remember(keys.bfloat16())
    past = attention.begin(queries.bfloat16(), memory)
    for _ in range(400):
        past = attention(queries[:, :1].bfloat16(), memory, past).past
    total = past[0][0].sum(dim=-1)
    assert_close(total, torch.full_like(total, 400.0), rtol=0.01, atol=0.0)
