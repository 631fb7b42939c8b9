"""What is set beside Captum: differences by hand, and items asked one by one are those asked at once."""

import pytest
import torch
from torch.testing import assert_close
from weighed import translator

from benchmarks import benchmark

peer = benchmark("captum_peer")


def test_a_difference_is_a_share_of_the_largest_relevance():
    one, other = [torch.tensor([[1.0, -4.0]])], [torch.tensor([[1.0, -3.0]])]
    difference, seconds = peer.compared(None, [lambda question: one, lambda question: other], 2)
    assert difference == pytest.approx(0.25)
    assert len(seconds) == 2


def test_items_one_by_one_are_those_asked_at_once():
    question, method = translator("transformer"), peer.ours("gradient_times_input")
    for whole, part in zip(method(question), peer.one_by_one(method)(question), strict=True):
        assert_close(whole, part)
