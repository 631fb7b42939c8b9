"""Batches on several threads: the same answers in their order, within the budget, and nothing left changed."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.predictor.batches import at_once, planned


@given(st.lists(st.integers(1, 40), max_size=300), st.integers(40, 3000), st.integers(1, 4))
def test_every_text_is_in_one_batch_and_the_budget_holds_over_what_goes_at_once(lengths, tokens, threads):
    batches, threads_used = planned(lengths, tokens, threads)
    assert sorted(row for rows in batches for row in rows) == list(range(len(lengths)))
    assert threads_used in (1, threads)
    sizes = [len(rows) * max(lengths[row] for row in rows) for rows in batches]
    assert all(size <= max(tokens // threads_used, 40) for size in sizes)


def test_little_work_stays_in_one_batch():
    assert [len(rows) for rows in planned([10] * 50, 12288, 4)[0]] == [50]


def test_much_work_has_a_batch_for_each_thread():
    batches, threads = planned([10] * 1000, 12288, 2)
    assert ([len(rows) for rows in batches], threads) == ([500, 500], 2)


@pytest.mark.parametrize("threads", [1, 3])
def test_answers_come_in_the_order_of_the_batches(threads):
    batches = [np.arange(start, start + 2) for start in range(0, 12, 2)]
    before = torch.get_num_threads()

    def answer(rows):
        assert torch.is_inference_mode_enabled()
        assert threads == 1 or torch.get_num_threads() == 1
        return [int(row) * 10 for row in rows]

    assert [one for found in at_once(answer, batches, threads) for one in found] == [row * 10 for row in range(12)]
    assert torch.get_num_threads() == before


def test_a_fault_in_a_thread_reaches_the_caller_and_leaves_the_threads_as_they_were():
    before = torch.get_num_threads()

    def answer(rows):
        raise ValueError("no such word")

    with pytest.raises(ValueError, match="no such word"):
        list(at_once(answer, [np.arange(2)] * 4, 2))
    assert torch.get_num_threads() == before
