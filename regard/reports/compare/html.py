"""Texts and tables as HTML. Every text is escaped."""

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

from regard.explain.tokens import visible_line
from regard.reports.compare.table import NONE


class Cell(NamedTuple):
    """One of a table."""

    text: str
    value: float | None = None  # to sort by; None: the text
    classes: str = ""
    tip: str = ""  # when pointed at


def shown(text: Any) -> str:
    """A text as HTML, with a glyph for everything in it that would not be seen."""
    return escape(visible_line(str(text)))


def table(columns: Sequence[str], rows: Sequence[Sequence[Cell]], *, systems: bool = False, texts: bool = False) -> str:
    """A table whose columns can be sorted; with `systems` its rows light up with the lines of the charts.

    Columns are of numbers, which stand right, or with `texts` of texts, which stand left as their heads do.
    """
    named = ' class="text"' if texts else ""
    head = "".join(f'<th scope="col"{named}>{shown(name)}</th>' for name in columns)
    body = "".join(
        (f'<tr data-system="{place}">' if systems else "<tr>") + "".join(map(_cell, row)) + "</tr>"
        for place, row in enumerate(rows)
    )
    return (
        f'<div class="scroll"><table class="sortable"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _cell(cell: Cell) -> str:
    by = "" if cell.text == NONE else cell.text if cell.value is None else repr(float(cell.value))
    named = (f' class="{cell.classes}"' if cell.classes else "") + (f' title="{shown(cell.tip)}"' if cell.tip else "")
    return f'<td{named} data-value="{shown(by)}">{shown(cell.text)}</td>'
