"""Heads of readers against softmax by hand, for every row of the table."""

import pytest
import torch
from torch.testing import assert_close

from regard.heads.reading import SPAN_HEADS
from regard.heads.reading.span_head import SpanHead
from regard.registry import Choice

DIM, VECTOR, WORDS = 5, 3, 4
LENGTHS = [4, 2]
MASK = torch.arange(WORDS) < torch.tensor(LENGTHS).unsqueeze(-1)


@pytest.fixture(params=sorted(SPAN_HEADS))
def head(request) -> SpanHead:
    return SPAN_HEADS.build(Choice(request.param), DIM, VECTOR).double().requires_grad_(False)


def inputs():
    return torch.randn(2, WORDS, DIM, dtype=torch.float64), torch.randn(2, VECTOR, dtype=torch.float64)


def test_places_sum_to_one_and_padding_has_none(head):
    states, vector = inputs()
    first, _ = head(states, MASK, vector)
    assert_close(first.exp().sum(dim=1), torch.ones(2, dtype=torch.float64))
    assert bool((first.exp()[~MASK] < 1e-12).all())


def test_padding_changes_nothing(head):
    states, vector = inputs()
    changed = states.masked_fill(~MASK.unsqueeze(-1), 1e3)
    for one, other in zip(head(states, MASK, vector), head(changed, MASK, vector), strict=True):
        assert_close(one[MASK], other[MASK])


def test_pointers_equal_softmax_at_each_end(assert_agrees):
    head = SPAN_HEADS.build(Choice("pointers"), DIM, VECTOR).double().requires_grad_(False)
    states, vector = inputs()
    found = head(states, MASK, vector)
    for socket, ends in zip((head.first, head.last), found, strict=True):
        for row, length in enumerate(LENGTHS):
            pairs = [
                socket.score(vector[row : row + 1], socket.score.prepare(states[row, i : i + 1]), None)
                for i in range(length)
            ]
            assert_agrees("D11", ends[row, :length], torch.cat(pairs).squeeze(-1).log_softmax(dim=0))


def test_attention_sum_has_one_distribution_for_both_ends():
    head = SPAN_HEADS.build(Choice("attention_sum", {"score": Choice("dot")}), DIM, DIM).double()
    states, vector = torch.randn(1, WORDS, DIM).double(), torch.randn(1, DIM).double()
    first, last = head(states, MASK[:1], vector)
    assert_close(first[0], (states[0] @ vector[0]).log_softmax(dim=0))
    assert_close(last, torch.zeros_like(last))
    assert head.max_pieces == 1


def test_a_passage_of_nothing_has_finite_logs(head):
    states, vector = inputs()
    found = head(states.requires_grad_(), torch.zeros_like(MASK), vector)
    sum(one.sum() for one in found).backward()
    assert all(bool(one.isfinite().all()) for one in (*found, states.grad))
