"""A table as Markdown, and as text for a terminal."""

import html
from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len

from regard.explain.tokens import visible_line

NONE = "–"
MARKS = "\\`*[]|"  # what Markdown would read as its own


class Table(NamedTuple):
    """Texts; the first column is of names, the others are of numbers, but the last `texts` of them."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: int = 0

    def markdown(self) -> str:
        """With nothing in any cell that Markdown or HTML would read as its own."""
        ruler = ["---", *["---:"] * (len(self.columns) - 1 - self.texts), *["---"] * self.texts]
        lines = [self.columns, ruler, *([plain(cell) for cell in row] for row in self.rows)]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def text(self) -> str:
        """In columns; names stand left, numbers right."""
        lines = [[visible_line(cell) for cell in row] for row in [self.columns, *self.rows]]
        widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
        return "".join("  ".join(_aligned(line, widths)).rstrip() + "\n" for line in lines)


def _aligned(line: Sequence[str], widths: Sequence[int]) -> list[str]:
    gaps = [" " * (width - cell_len(cell)) for cell, width in zip(line, widths, strict=True)]
    return [line[0] + gaps[0], *(gap + cell for cell, gap in zip(line[1:], gaps[1:], strict=True))]


def number(value: float | None) -> str:
    """1,234 · 12.3 · 0.0123"""
    if value is None:
        return NONE
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def minutes(seconds: float | None) -> str:
    """12.3, of so many seconds."""
    return NONE if seconds is None else f"{seconds / 60:.1f}"


def plain(cell: str) -> str:
    """A text as Markdown that reads nothing in it as markup."""
    text = html.escape(visible_line(cell), quote=False)
    return "".join(f"\\{sign}" if sign in MARKS else sign for sign in text)
