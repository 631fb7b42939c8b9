"""The times and the memory of mechanisms over lengths as a picture, through matplotlib (the extra `[plot]`)."""

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from regard.errors import ConfigError, RegardError
from regard.explain.tokens import visible_line
from regard.reports.bench.benching import MEGABYTE, Measure, Timing

KINDS = (".svg", ".png", ".pdf")
MARKERS = "osD^vP*Xh<>d"


def check_plot(path: Path) -> None:
    """Raises RegardError, before anything is measured, where no picture can be made."""
    if path.suffix.lower() not in KINDS:
        raise ConfigError(
            "--plot", f"there is no kind of picture '{path.suffix}'", f"a name that ends with {', '.join(KINDS)}"
        )
    _figure()


def plot(timings: Sequence[Timing], *, title: str, kind: str) -> bytes:
    """Two charts with logarithms on both axes, so that a power of the length is a straight line."""
    figure = _figure()(figsize=(11, 4.6), dpi=150, layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw(left, timings, lambda one: one.median * 1e3, "milliseconds a pass")
    _draw(right, timings, lambda one: one.bytes / MEGABYTE, "MB held at most")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    figure.suptitle(visible_line(title), fontsize=10, parse_math=False)
    file = io.BytesIO()
    figure.savefig(file, format=kind.removeprefix(".").lower())
    return file.getvalue()


def _draw(axes: Any, timings: Sequence[Timing], value: Callable[[Measure], float], label: str) -> None:
    for number, timing in enumerate(timings):
        lengths = [one.length for one in timing.measures]
        values = [value(one) for one in timing.measures]
        style = {"marker": MARKERS[number % len(MARKERS)], "linewidth": 1.6, "markersize": 4.5}
        axes.plot(lengths, values, label=_label(timing), **style)
    ticks = sorted({one.length for timing in timings for one in timing.measures})
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(ticks, [f"{length:,}" for length in ticks])
    axes.set_xlabel("length")
    axes.set_ylabel(label)
    axes.grid(which="major", alpha=0.3)


def _label(timing: Timing) -> str:
    slope = timing.slope()
    name = visible_line(timing.mechanism.name).replace("$", r"\$")
    return name if slope is None else f"{name}  ~ n^{slope:.2f}"


def _figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise RegardError("--plot needs matplotlib: pip install 'regard[plot]'") from error
    return Figure
