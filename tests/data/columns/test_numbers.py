"""The column of numbers: fixed point by hand, padding, and what it refuses."""

import numpy as np
import pytest
import torch

from regard.data.columns.numbers import ZERO, NumbersColumn, fixed
from regard.errors import DataError
from regard.registry import Choice

WORDS = Choice("words")


@pytest.fixture
def column() -> NumbersColumn:
    return NumbersColumn.learn(["0.5 1; -2 0", "", "1 1"], WORDS)


def test_width_and_rows_are_those_of_training(column):
    assert (column.width, column.rows) == (2, 2)


@pytest.mark.parametrize(("values", "bits"), [(["0 1", "1 1"], True), (["0 1", "1 2"], False), (["0 0.5", ""], False)])
def test_it_knows_whether_all_were_bits(values, bits, tmp_path):
    column = NumbersColumn.learn(values, WORDS)
    column.save(tmp_path)
    assert column.bits == NumbersColumn.load(tmp_path).bits == bits


def test_a_number_is_millionths(column):
    ids = column.encode("0.5 1; -2 0.0000004")
    assert [one - ZERO for one in ids] == [500_000, 1_000_000, -2_000_000, 0]
    assert column.decode(ids) == "0.5 1; -2 0"


def test_shorter_examples_are_padded_with_zeros(column):
    flat = np.array([*column.encode("0.5 1; -2 0; 3 3"), *column.encode("1 -1")])
    items, mask = column.join(flat, np.array([6, 2]))
    assert torch.equal(items, torch.tensor([[[0.5, 1], [-2, 0], [3, 3]], [[1, -1], [0, 0], [0, 0]]]))
    assert mask.tolist() == [[True, True, True], [True, False, False]]


def test_answers_out_of_bounds_become_the_nearest_bound(column):
    rows = np.array([[np.nan, np.inf], [-np.inf, 0.25]])
    assert column.decode(fixed(rows)) == "0 1000; -1000 0.25"


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (["1 2", "1 2; 3 4 5"], r"numbers:2: row 2 has 3 numbers"),
        (["1 2", "", "1 2 3"], r"numbers:3: rows of 3 numbers, and all rows have 2"),
        (["1 2", "one two"], r"numbers:2: 'one' is not a number"),
        (["", " "], r"there are none to learn from"),
    ],
)
def test_values_of_no_common_shape_are_told_by_their_number(values, told):
    with pytest.raises(DataError, match=told):
        NumbersColumn.learn(values, WORDS)


def test_so_many_times_a_value_is_so_many_times_its_rows(column):
    assert column.encode(column.repeated("0.5 1; -2 0", 3)) == 3 * column.encode("0.5 1; -2 0")


def test_rows_of_another_width_are_told(column):
    with pytest.raises(DataError, match="rows of 1 numbers, and all rows have 2"):
        column.check("1; 2")
