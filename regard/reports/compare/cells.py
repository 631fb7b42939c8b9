"""A table as it is before it becomes Markdown, a text or HTML."""

from collections.abc import Sequence
from typing import NamedTuple

from regard.reports.compare.table import NONE, Table, minutes, number


class Cell(NamedTuple):
    """One of a table."""

    text: str
    value: float | None = None  # to sort by; None: the text
    classes: str = ""
    tip: str = ""  # when pointed at


class Cells(NamedTuple):
    """A table; the first column is of names, the others are of numbers, but the last `texts` of them."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    texts: int = 0

    @property
    def plain(self) -> Table:
        """What of it a person reads."""
        return Table(self.columns, [[cell.text for cell in row] for row in self.rows], self.texts)


def of_number(value: float | None) -> Cell:
    """1,234 · 12.3 · 0.0123"""
    return Cell(number(value), value)


def of_minutes(seconds: float | None) -> Cell:
    """12.3, of so many seconds."""
    return Cell(minutes(seconds), seconds)


def of_texts(values: Sequence[str | None]) -> list[Cell]:
    """Texts beside each other."""
    return [Cell(NONE if value is None else value, None, "text") for value in values]
