"""Tables and texts as Markdown, and as text for a terminal."""

import html
import re
from collections.abc import Sequence
from io import StringIO
from typing import NamedTuple

import rich.table
from rich.console import Console
from rich.text import Text

from regard.explain.tokens import visible_line

DASH = "–"
_MARKS = re.compile(r"[\\`*|\[\]]")  # what Markdown reads as its own
_INTERVAL = re.compile(r"[\d.,+\-−% ]*\[[\d.,+\-−% ]+\]")  # of numbers
_SIGNS = {"better": " ▲", "worse": " ▼"}
_WIDE = 100_000  # columns of a terminal on which no table is cut


class Cell(NamedTuple):
    """One cell of a table."""

    text: str
    value: float | None = None  # to sort by; None: the text
    colour: str = ""  # better, worse
    tip: str = ""  # when pointed at


class Table(NamedTuple):
    """A table: the first column has names, the last `texts` columns text, the others numbers."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    texts: int = 0

    def markdown(self) -> str:
        """Return Markdown; the markup of Markdown and HTML in cells is escaped."""
        ruler = ["---", *["---:"] * (len(self.columns) - 1 - self.texts), *["---"] * self.texts]
        lines = [self.columns, ruler, *([escaped(cell.text) for cell in row] for row in self.rows)]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def terminal(self) -> str:
        """Return columns for a terminal; names are aligned left, numbers right."""
        table, console = rich.table.Table(box=None, pad_edge=False), Console(file=StringIO(), width=_WIDE)
        for place, name in enumerate(self.columns):
            table.add_column(Text(visible_line(name)), justify="right" if place else "left", no_wrap=True)
        for row in self.rows:
            table.add_row(*(Text(visible_line(cell.text)) for cell in row))
        with console.capture() as capture:
            console.print(table)
        return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())

    def html(self) -> str:
        """Return HTML: every text is escaped; better and worse are signs, visible on light and dark pages."""
        head = "".join(f'<th scope="col">{_text(name)}</th>' for name in self.columns)
        body = "".join(f"<tr>{''.join(map(self._html_cell, range(len(row)), row))}</tr>" for row in self.rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _html_cell(self, place: int, cell: Cell) -> str:
        tip = f' title="{_text(cell.tip)}"' if cell.tip else ""
        if place == 0:
            return f'<th scope="row"{tip}>{_text(cell.text)}</th>'
        align = "left" if place >= len(self.columns) - self.texts else "right"
        return f'<td style="text-align:{align}"{tip}>{_text(cell.text)}{_SIGNS.get(cell.colour, "")}</td>'


def _text(text: str) -> str:
    return html.escape(visible_line(text))


def number(value: float | None) -> str:
    """1,234 · 12.3 · 0.0123"""
    if value is None:
        return DASH
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def number_cell(value: float | None) -> Cell:
    """The cell of a number."""
    return Cell(number(value), value)


def escaped(text: str) -> str:
    """Return a text as Markdown with all markup escaped; intervals of numbers, [0.1, 0.2], have none."""
    if _INTERVAL.fullmatch(text):
        return text
    quoted = html.escape(visible_line(text), quote=False)
    return _MARKS.sub(r"\\\g<0>", quoted)


def cells(*texts: str) -> str:
    """A row of a table in Markdown."""
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"


def code(text: str) -> str:
    """Return a text as Markdown code, with backticks or without."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def prose(text: str) -> str:
    """Return a docstring as Markdown: code in backticks stays, other characters are escaped."""
    pieces = text.split("`")
    signs = str.maketrans({"\\": r"\\", "*": r"\*", "_": r"\_", "<": "&lt;"})
    pieces[::2] = [piece.translate(signs) for piece in pieces[::2]]
    return "`".join(pieces)
