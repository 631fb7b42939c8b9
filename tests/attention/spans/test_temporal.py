"""Temporal attention against a loop over the paper's equations, with exponentials far too large for one."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention import Attention, Memory
from regard.attention.parts import AllOf
from regard.attention.scores.dot import DotScore
from regard.attention.spans.alibi import AlibiSpan
from regard.attention.spans.temporal import TemporalSpan
from regard.attention.weightings.softmax import SoftmaxWeighting

DIM = 3


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def looking(span: torch.nn.Module) -> Attention:
    return Attention(DotScore(DIM, DIM), span, SoftmaxWeighting(DIM))


def by_loop(scores: list[list[float]]) -> list[list[float]]:
    """e'_tj = exp(e_tj) at first, then exp(e_tj) / sum of exp(e_t'j) so far; weights e' / sum of e' over the keys."""
    rows = []
    for time, row in enumerate(scores):
        before = [sum(math.exp(scores[earlier][key]) for earlier in range(time)) for key in range(len(row))]
        parts = [math.exp(score) / (total if time else 1.0) for score, total in zip(row, before, strict=True)]
        rows.append([part / sum(parts) for part in parts])
    return rows


@pytest.mark.parametrize("entry", ["A33", "C15"])
def test_weights_are_those_of_a_loop(entry, assert_agrees):
    memory, queries, lengths = batch([6, 4, 1])
    weights = looking(TemporalSpan(DIM, DIM))(queries, memory, need_weights=True).weights
    for row, length in enumerate(lengths):
        scores = (queries[row] @ memory.keys[row, :length].t()).tolist()
        assert_agrees(entry, weights[row, :, :length], torch.tensor(by_loop(scores), dtype=torch.float64))


def batch(lengths: list[int]) -> tuple[Memory, Tensor, list[int]]:
    keys, mask = random(len(lengths), 6, DIM), torch.arange(6) < torch.tensor(lengths).unsqueeze(-1)
    return Memory(keys, keys, mask), random(len(lengths), 7, DIM), lengths


def test_the_first_query_looks_as_if_there_were_no_span():
    memory, queries, _ = batch([6, 4])
    weights = looking(TemporalSpan(DIM, DIM))(queries[:, :1], memory, need_weights=True).weights
    scores = (queries[:, :1] @ memory.keys.transpose(1, 2)).masked_fill(~memory.mask.unsqueeze(1), -math.inf)
    assert_close(weights, scores.softmax(dim=-1))


def test_the_same_query_twice_looks_at_all_keys_alike():
    """exp(e) / exp(e) is one for every key: what was seen well is not seen again."""
    memory, queries, lengths = batch([6, 4])
    twice = queries[:, :1].expand(-1, 2, -1)
    weights = looking(TemporalSpan(DIM, DIM))(twice, memory, need_weights=True).weights[:, 1]
    for row, length in enumerate(lengths):
        assert_close(weights[row, :length], torch.full((length,), 1 / length, dtype=torch.float64))


def test_scores_too_large_for_any_exponential_do_no_harm():
    """A number common to all scores of a key and time changes nothing that can be seen."""
    keys = torch.tensor([[[1.0], [1.0], [-1.0]]], dtype=torch.float64)
    queries = torch.tensor([[[1e4], [1e4], [2e4], [-1e4]]], dtype=torch.float64, requires_grad=True)
    attention = Attention(DotScore(1, 1), TemporalSpan(1, 1), SoftmaxWeighting(1))
    attended = attention(queries, attention.remember(keys), need_weights=True)
    wanted = [[0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0], [0, 0, 1]]
    assert_close(attended.weights[0].detach(), torch.tensor(wanted, dtype=torch.float64))
    attended.context.sum().backward()
    assert bool(queries.grad.isfinite().all())


def test_biases_of_other_spans_belong_to_the_score(assert_agrees):
    memory, queries, _ = batch([6])
    attention = looking(AllOf([AlibiSpan(DIM, DIM), TemporalSpan(DIM, DIM)]))
    weights = attention(queries, memory, need_weights=True).weights[0]
    places = torch.arange(7).unsqueeze(-1) - torch.arange(6)
    scores = queries[0] @ memory.keys[0].t() - places.abs() / 256
    assert_agrees("A33", weights, torch.tensor(by_loop(scores.tolist()), dtype=torch.float64))
