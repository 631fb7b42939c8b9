"""The report of a comparison as one HTML file: works from disk, asks for nothing outside itself."""

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from regard.explain.frame import bundle, framed, static
from regard.explain.tokens import visible_line
from regard.reports.compare.summary import Compared
from regard.reports.compare.tables import colour_note, figure_cell, run_table, sections
from regard.reports.table import DASH, Cell, Table

PACKAGE = "regard.reports.compare"
_WIDTH, HEIGHT = 720, 340  # of a chart
LEFT, RIGHT, _TOP, BOTTOM = 56, 14, 12, 44
TICKS = 6  # about as many on an axis
_COLOURS = 12  # classes c0 … c11; beyond them the same again, dashed


def comparison_page(compared: Compared) -> str:
    """Return the whole page, in English and Chinese. All texts are escaped; only its own script and style may run."""
    first, *others = sections(compared)
    body = _render(
        "report.html",
        sections=[first._replace(notes=[*first.notes, colour_note(compared)]), *others],
        charts=list(_charts(compared)),
        names=compared.names,
        differing=_differing_table(compared),
        runs=run_table(compared),
        failed=[f"{name}: {why}" for name, why in compared.failed.items()],
        made=compared.made,
        command=compared.about.get("command", ""),
    )
    return framed(
        body,
        title=compared.title,
        script=f"{bundle('phrases.js')}\n{static('chinese.js', PACKAGE)}\n{static('compare.js', PACKAGE)}",
        style=static("compare.css", PACKAGE),
        tools='<button type="button" id="language"></button><button type="button" id="theme"></button>',
    )


def _render(template: str, **values: Any) -> Markup:
    return Markup(_templates().get_template(template).render(**values))


def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader(PACKAGE, "static"),
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) else visible_line(str(value)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    def sort_key(cell: Cell) -> str:
        return "" if cell.text == DASH else cell.text if cell.value is None else repr(float(cell.value))

    environment.globals.update(colour=colour, sort_key=sort_key)
    return environment


def _differing_table(compared: Compared) -> Table | None:
    """Return a table of the settings that differ, by system; the longer side makes the rows."""
    settings = {name: [_setting(value) for value in row] for name, row in compared.differing.items()}
    if not settings:
        return None
    head, rows = ["setting", *compared.names], [[name, *values] for name, values in settings.items()]
    if len(settings) < len(compared.names):
        head, rows = ["system", *settings], [list(row) for row in zip(compared.names, *settings.values(), strict=True)]
    return Table(head, [[Cell(text) for text in row] for row in rows], texts=len(head) - 1)


def _setting(value: Any) -> str:
    """Return a value as in a config."""
    return DASH if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# Charts: lines over an axis as inline SVG


class Point(NamedTuple):
    """A place of a line; `low` to `high` is a band around it."""

    x: float
    y: float
    low: float
    high: float
    tip: str  # when pointed at


class Line(NamedTuple):
    """One system; its number gives its colour."""

    name: str
    number: int
    points: Sequence[Point]

    @property
    def has_band(self) -> bool:
        """Return whether any point has more than one value."""
        return any(point.low != point.high for point in self.points)


class Frame(NamedTuple):
    """The part of a chart inside its axes."""

    across: tuple[float, float]  # values at its left and right
    up: tuple[float, float]  # values at its bottom and top
    rules: list[float]  # values that have a horizontal line
    marks: list[tuple[float, str]]  # values below which a label stands

    def x(self, value: float) -> float:
        """The pixel of a value."""
        return LEFT + (_WIDTH - LEFT - RIGHT) * (value - self.across[0]) / (self.across[1] - self.across[0])

    def y(self, value: float) -> float:
        """The pixel of a value."""
        return HEIGHT - BOTTOM - (HEIGHT - _TOP - BOTTOM) * (value - self.up[0]) / (self.up[1] - self.up[0])


def chart(lines: Sequence[Line], *, across: str, up: str, names: Sequence[str] = ()) -> str:
    """Return an SVG element; "" without points. `names` label 0, 1, 2 … of the x axis instead of numbers."""
    lines = [line._replace(points=[point for point in line.points if math.isfinite(point.y)]) for line in lines]
    points = [point for line in lines for point in line.points]
    if not points:
        return ""
    rules = ticks(min(point.low for point in points), max(point.high for point in points))
    if names:
        ends, marks = (-0.3, len(names) - 0.7), [(float(place), name) for place, name in enumerate(names)]
    else:
        last = max(point.x for point in points)
        ends, marks = (0.0, max(last, 1e-9)), [(one, f"{one:,g}") for one in ticks(0.0, last) if one <= last]
    sizes = {"width": _WIDTH, "height": HEIGHT, "left": LEFT, "right": RIGHT, "bottom": BOTTOM}
    frame = Frame(ends, (rules[0], rules[-1]), rules, marks)
    return _render("chart.svg", lines=lines, frame=frame, across=across, up=up, **sizes)


def colour(number: int) -> str:
    """The classes that colour a line and its name."""
    return f"c{number % _COLOURS}" + (" dashed" if number >= _COLOURS else "")


def ticks(low: float, high: float) -> list[float]:
    """About six round numbers, from one not above `low` to one not below `high`."""
    extent = (high - low) or abs(high) or 1.0
    raw = extent / TICKS
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * place, 12) for place in range(first, max(last, first + 1) + 1)]


def _charts(compared: Compared) -> Iterator[tuple[str, str]]:
    """Yield (title, chart) of all charts with data."""
    curves = [
        [Point(x, y, low, high, f"update {x:,}: {y:.2f}") for x, y, low, high in row.curve()] for row in compared.rows
    ]
    learning = chart(_lines(compared, curves), across="updates", up=f"{compared.curve_metric} on the dev set")
    lengths = [
        [
            Point(x, figure.mean, figure.mean, figure.mean, f"{bucket.words} words: {figure_cell(figure).text}")
            for x, bucket in enumerate(compared.buckets)
            for figure in [bucket.figures[place]]
        ]
        for place in range(len(compared.rows))
    ]
    names = [f"{bucket.words} ({bucket.sentences:,})" for bucket in compared.buckets]
    across = f"{compared.wording.length} ({compared.wording.examples})"
    by_length = chart(_lines(compared, lengths), across=across, up=compared.metrics[0], names=names)
    yield from ((title, one) for title, one in (("Learning", learning), ("By length", by_length)) if one)


def _lines(compared: Compared, points: Sequence[Sequence[Point]]) -> list[Line]:
    return [Line(name, number, some) for number, (name, some) in enumerate(zip(compared.names, points, strict=True))]
