"""Tables as Markdown and in a terminal."""

import pytest

from regard.reports.table import Cell, Table, number


def table(columns, *rows):
    return Table(columns, [[Cell(text) for text in row] for row in rows])


def test_hostile_names_stay_in_their_cell_of_the_markdown():
    lines = table(["a", "b"], ["x|y\n<b>`*_[z](u)", "1"]).markdown().splitlines()
    assert lines[1:] == ["| --- | ---: |", r"| x\|y␊&lt;b&gt;\`\*_\[z\](u) | 1 |"]


def test_columns_of_a_terminal_stand_below_each_other():
    assert table(["system", "n"], ["a", "1"], ["我", "10"]).terminal() == "system   n\na        1\n我      10\n"


@pytest.mark.parametrize(
    ("value", "told"), [(None, "–"), (1234.4, "1,234"), (12.34, "12.3"), (0.01234, "0.0123"), (7.0, "7"), (0, "0")]
)
def test_numbers(value, told):
    assert number(value) == told
