"""Learned places against a lookup."""

import pytest
import torch
from torch.nn import functional

from regard.errors import RegardError
from regard.layers.positions.learned import LearnedPosition


def test_learned_places_are_rows_of_a_table_and_learn_alone(assert_agrees):
    position = LearnedPosition(4, max_length=6)
    vectors = position(2, 3)
    assert_agrees("B19", vectors.detach(), functional.embedding(torch.tensor([2, 3, 4]), position.table).detach())
    vectors.sum().backward()
    assert position.table.grad.sum(dim=1).tolist() == [0, 0, 4, 4, 4, 0]


def test_places_that_were_not_learned_are_refused_or_clamped():
    with pytest.raises(RegardError, match=r"7 pieces, but positions were learned for 6 .*max_length"):
        LearnedPosition(4, max_length=6)(5, 2)
    position = LearnedPosition(4, max_length=6, beyond="clamp")
    assert torch.equal(position(4, 4), position.table[[4, 5, 5, 5]])
    assert torch.equal(position(9, 1), position.table[[5]])
