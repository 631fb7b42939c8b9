"""Rows of numbers as text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError
from regard.text.numbers import number_or_none, read_rows, write_rows

NUMBERS = st.integers(-(10**9), 10**9).map(lambda one: one / 10**6)  # six digits behind the point


def test_one_number_by_hand():
    read = {text: number_or_none(text) for text in ("1", " -.5 ", "+2.", "1e3", "2.5E-1")}
    assert [*read.values()] == [1, -0.5, 2, 1000, 0.25]
    for text in ("good", "", "nan", "inf", "1_000", "3 stars", "1e999", "1 2"):
        assert number_or_none(text) is None


def test_rows_by_hand():
    assert read_rows(" 0.31 1;-.5 0 ;1e2  -7").tolist() == [[0.31, 1], [-0.5, 0], [100, -7]]
    assert write_rows([[0.31, 1], [-0.5, 0.1234567], [100, -0.0000001]]) == "0.31 1; -0.5 0.123457; 100 0"


@given(st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(NUMBERS, min_size=width, max_size=width), min_size=1)))
def test_written_rows_are_read_again(rows):
    assert np.array_equal(read_rows(write_rows(rows)), np.array(rows))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "there are no numbers"),
        (" ; ", "there are no numbers"),
        ("1 2;;3 4", "row 2 has no numbers"),
        ("1 2; 3", "row 2 has 1 numbers, the first has 2"),
        ("1 two", "'two' is not a number"),
        ("0x1", "'0x1' is not a number"),
        ("1 -1000.5", "'-1000.5' is out of bounds"),
        ("1; nan", "'nan' is out of bounds"),
        ("inf", "'inf' is out of bounds"),
    ],
)
def test_what_is_no_numbers_is_told(text, told):
    with pytest.raises(DataError, match=told) as caught:
        read_rows(text)
    assert str(caught.value).count("\n") == 0
