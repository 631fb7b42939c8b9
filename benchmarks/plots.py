"""Pictures of what was measured: bars of a race, lines of something that grows."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

WIDTH, HEIGHT, DOTS = 8.0, 3.2, 110  # inches of a panel, dots an inch
OURS, THEIRS = "#c0392b", "#7f8c8d"

Found = Mapping[str, Any]


def draw(name: str, found: Found, path: Path) -> None:
    """The picture of a part."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    panels = PICTURES[name](found)
    figure, axes = pyplot.subplots(len(panels), 1, figsize=(WIDTH, HEIGHT * len(panels)), squeeze=False)
    for axis, panel in zip(axes[:, 0], panels, strict=True):
        panel(axis)
    figure.tight_layout()
    figure.savefig(path, dpi=DOTS, metadata={"Software": None})
    pyplot.close(figure)


Panel = Callable[[Any], None]


def bars(found: Found) -> list[Panel]:
    """A panel for each race: medians, with a line from the least to the most."""

    def panel_of(title: str, race: Mapping[str, Found]) -> Panel:
        def panel(axis: Any) -> None:
            names = list(race)
            middles = [statistics.median(race[name]["speeds"]) for name in names]
            lows = [middle - min(race[name]["speeds"]) for name, middle in zip(names, middles, strict=True)]
            highs = [max(race[name]["speeds"]) - middle for name, middle in zip(names, middles, strict=True)]
            colours = [OURS if name.startswith("regard") else THEIRS for name in names]
            axis.barh(names, middles, xerr=[lows, highs], color=colours, capsize=3)
            axis.invert_yaxis()
            axis.set_title(title)
            axis.set_xlabel(found["unit"])

        return panel

    return [panel_of(title, race) for title, race in found["races"].items()]


def lines(found: Found) -> list[Panel]:
    """A panel for each of `curves`: title, axes, and of each name the points [x, y]."""

    def panel_of(curve: Found) -> Panel:
        def panel(axis: Any) -> None:
            for name, points in curve["points"].items():
                style = "-" if name.startswith("regard") else "--"
                axis.plot(*transposed(points), style, marker="o", markersize=3, label=name)
            axis.set_title(curve["title"])
            axis.set_xlabel(curve["x"])
            axis.set_ylabel(curve["y"])
            axis.set_xscale(curve.get("scale", "linear"))
            axis.grid(alpha=0.3)
            axis.legend()

        return panel

    return [panel_of(curve) for curve in found["curves"]]


def transposed(points: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
    """[[x, y], …] → all x, all y."""
    return [x for x, _ in points], [y for _, y in points]


PICTURES: dict[str, Callable[[Found], list[Panel]]] = {
    "training": bars,
    "decoding": bars,
    "data_sizes": lines,
    "trained": bars,
    "growth": lines,
    "quality": lines,
    "server": lines,
    "demo": lines,
}
