"""The value that every report returns: tables, JSON values, lines of text, and a figure."""

import html
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regard.errors import ConfigError, RegardError
from regard.explain.tokens import visible_line
from regard.reports.table import Table

_PICTURES = (".svg", ".png", ".pdf")


class Report(NamedTuple):
    """Results of a report. All fields but `values` are optional."""

    rows: Sequence[Table]
    values: Any  # the same as JSON values
    summary: str = ""  # lines under the tables
    figure: Callable[[str], bytes] | None = None  # ending of a file, such as .svg → its content; empty: there is none
    heading: str = ""  # a line above the tables

    def text(self, *, terminal: bool) -> str:
        """Return the report as text: tables for a terminal, or as Markdown."""
        tables = [one.terminal() if terminal else one.markdown() for one in self.rows]
        lines = [f"{one}\n" for one in (self.heading, self.summary) if one]
        return "\n".join([*lines[: bool(self.heading)], *tables, *lines[bool(self.heading) :]])

    def html(self) -> str:
        """Return heading, tables and summary as escaped HTML without colours of its own, for light and dark pages."""
        notes = [
            f"<p>{html.escape(visible_line(one))}</p>" for one in (self.heading, *self.summary.splitlines()) if one
        ]
        shown = bool(self.heading)
        return "\n".join([*notes[:shown], *(one.html() for one in self.rows), *notes[shown:]])

    def _repr_html_(self) -> str:
        return self.html()


def check_plot(path: Path) -> None:
    """Raise ConfigError for an unknown file type of a plot, RegardError where matplotlib is missing."""
    if path.suffix.lower() not in _PICTURES:
        hint = f"a name that ends with {', '.join(_PICTURES)}"
        raise ConfigError("--plot", f"unknown file type '{path.suffix}'", hint)
    new_figure(1, 1)


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure of matplotlib, in inches. Raises RegardError where the extra `[plot]` is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise RegardError("--plot needs matplotlib: pip install -e '.[plot]'") from error
    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def figure_bytes(figure: Any, ending: str) -> bytes:
    """Return a figure as the bytes of a file with this ending."""
    file = io.BytesIO()
    figure.savefig(file, format=ending.removeprefix(".").lower())
    return file.getvalue()
