"""Texts and tables as HTML. Every text is escaped."""

from html import escape
from typing import Any

from regard.explain.tokens import visible_line
from regard.reports.compare.cells import Cell, Cells
from regard.reports.compare.table import NONE


def shown(text: Any) -> str:
    """A text as HTML, with a glyph for everything in it that would not be seen."""
    return escape(visible_line(str(text)))


def table(cells: Cells, *, systems: bool = False) -> str:
    """A table whose columns can be sorted; with `systems` its rows light up with the lines of the charts.

    Numbers stand right; texts stand left, as their heads do.
    """
    numbers = len(cells.columns) - cells.texts
    head = "".join(
        f'<th scope="col"{"" if place < numbers else _TEXT}>{shown(name)}</th>'
        for place, name in enumerate(cells.columns)
    )
    body = "".join(
        (f'<tr data-system="{place}">' if systems else "<tr>") + "".join(map(_cell, row)) + "</tr>"
        for place, row in enumerate(cells.rows)
    )
    return (
        f'<div class="scroll"><table class="sortable"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


_TEXT = ' class="text"'


def _cell(cell: Cell) -> str:
    by = "" if cell.text == NONE else cell.text if cell.value is None else repr(float(cell.value))
    named = (f' class="{cell.classes}"' if cell.classes else "") + (f' title="{shown(cell.tip)}"' if cell.tip else "")
    return f'<td{named} data-value="{shown(by)}">{shown(cell.text)}</td>'
