"""Lines over an axis as inline SVG: coloured by the classes of the page's style, without any script."""

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from regard.explain.tokens import visible_line

WIDTH, HEIGHT = 720, 340
LEFT, RIGHT, TOP, BOTTOM = 56, 14, 12, 44
TICKS = 6  # about as many on an axis
COLOURS = 12  # classes c0 … c11; beyond them the same again, dashed


class Point(NamedTuple):
    """A place of a line; `low` to `high` is a band around it."""

    x: float
    y: float
    low: float
    high: float
    told: str  # when pointed at


class Line(NamedTuple):
    """One system; its number gives its colour."""

    name: str
    number: int
    points: Sequence[Point]


def chart(lines: Sequence[Line], *, across: str, up: str, names: Sequence[str] = ()) -> str:
    """An SVG element. `names` stand at 0, 1, 2 … of the x axis instead of numbers; nothing where there is no point."""
    points = [point for line in lines for point in line.points if math.isfinite(point.y)]
    if not points:
        return ""
    ticks_y = ticks(min(point.low for point in points), max(point.high for point in points))
    ends = (-0.3, len(names) - 0.7) if names else (0.0, max(point.x for point in points))
    ticks_x = [float(place) for place in range(len(names))] if names else ticks(*ends)
    frame = _Frame(ends if names else (ticks_x[0], max(ends[1], 1e-9)), (ticks_y[0], ticks_y[-1]))
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{_shown(f"{up} by {across}")}">',
        *(_rule(frame, tick) for tick in ticks_y),
        *(_mark(frame, tick, names[int(tick)] if names else f"{tick:,g}") for tick in ticks_x if tick <= ends[1]),
        _axis_name(LEFT + (WIDTH - LEFT - RIGHT) / 2, HEIGHT - 6, across),
        f'<text class="axis" transform="translate(13 {HEIGHT / 2 - 16:g}) rotate(-90)">{_shown(up)}</text>',
        *(_line(frame, line) for line in lines),
    ]
    return "\n".join([*parts, "</svg>"])


def colour(number: int) -> str:
    """The classes that colour a line and its name."""
    return f"c{number % COLOURS}" + (" dashed" if number >= COLOURS else "")


def ticks(low: float, high: float) -> list[float]:
    """About six round numbers, from one not above `low` to one not below `high`."""
    extent = (high - low) or abs(high) or 1.0
    raw = extent / TICKS
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * place, 12) for place in range(first, max(last, first + 1) + 1)]


class _Frame(NamedTuple):
    """From values to pixels."""

    across: tuple[float, float]
    up: tuple[float, float]

    def x(self, value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - self.across[0]) / (self.across[1] - self.across[0])

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - self.up[0]) / (self.up[1] - self.up[0])


def _line(frame: _Frame, line: Line) -> str:
    points = [point for point in line.points if math.isfinite(point.y)]
    upper = [(frame.x(point.x), frame.y(point.high)) for point in points]
    lower = [(frame.x(point.x), frame.y(point.low)) for point in reversed(points)]
    path = [(frame.x(point.x), frame.y(point.y)) for point in points]
    parts = [f'<g class="line {colour(line.number)}" data-system="{line.number}">']
    if any(point.low != point.high for point in points):
        parts.append(f'<polygon class="band" points="{_places(upper + lower)}"/>')
    parts.append(f'<polyline points="{_places(path)}"/>')
    for point, (x, y) in zip(points, path, strict=True):
        tip = _shown(f"{line.name}: {point.told}")
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{tip}</title></circle>')
    return "".join([*parts, "</g>"])


def _places(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _rule(frame: _Frame, tick: float) -> str:
    y = frame.y(tick)
    line = f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
    return f'{line}<text x="{LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>'


def _mark(frame: _Frame, tick: float, label: str) -> str:
    return f'<text x="{frame.x(tick):.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="middle">{_shown(label)}</text>'


def _axis_name(x: float, y: float, text: str) -> str:
    return f'<text class="axis" x="{x:g}" y="{y:g}" text-anchor="middle">{_shown(text)}</text>'


def _shown(text: str) -> str:
    return escape(visible_line(text))
