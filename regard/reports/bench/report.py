"""Measurements of mechanisms: tables, and a plot through matplotlib (the extra `[plot]`)."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import torch

from regard.explain.tokens import visible_line
from regard.reports.bench.bench import MEGABYTE, LengthTiming, Timing, Workload
from regard.reports.report import Report, figure_bytes, new_figure
from regard.reports.table import DASH, Cell, Table, number_cell
from regard.runs.folder import environment

_MARKERS = "osD^vP*Xh<>d"


def bench_report(timings: Sequence[Timing], work: Workload) -> Report:
    """Report the time and the memory of each mechanism over lengths."""
    tables = [time_table(timings, work.lengths), memory_table(timings, work.lengths)]
    values = {"workload": asdict(work), "environment": environment(), "mechanisms": [one.values() for one in timings]}
    title = about(work)
    return Report(tables, values, figure=lambda ending: plot(timings, title=title, kind=ending), heading=title)


def about(work: Workload) -> str:
    """Return the workload in one line."""
    queries = "as many queries as keys" if work.queries is None else f"{work.queries:,} queries"
    passes = "forward and backward" if work.backward else "forward"
    heads = "" if work.heads is None else f", {work.heads} heads"
    threads = torch.get_num_threads()
    where = work.device if work.device != "cpu" else f"{threads} thread{'s' if threads > 1 else ''}"
    turns = f"median of {work.rounds} rounds" if work.rounds > 1 else "one round, so slopes are rough"
    return f"{passes}, batch {work.batch}, dim {work.dim}{heads}, {queries}, {where}, {turns}"


def time_table(timings: Sequence[Timing], lengths: Sequence[int]) -> Table:
    """Milliseconds of a pass."""
    return _table("ms", timings, lengths, lambda one: one.median * 1e3, Timing.slope)


def memory_table(timings: Sequence[Timing], lengths: Sequence[int]) -> Table:
    """MB held at once at most."""
    return _table("MB", timings, lengths, lambda one: one.bytes / MEGABYTE, Timing.memory_slope)


def _table(
    unit: str,
    timings: Sequence[Timing],
    lengths: Sequence[int],
    value: Callable[[LengthTiming], float],
    slope: Callable[[Timing], float | None],
) -> Table:
    rows = []
    for timing in timings:
        measured = {one.length: number_cell(value(one)) for one in timing.measures}
        grows = slope(timing)
        last = Cell(DASH if grows is None else f"{grows:.2f}", grows)
        rows.append([Cell(timing.mechanism.name), *(measured.get(length, Cell(DASH)) for length in lengths), last])
    return Table([unit, *(f"{length:,}" for length in lengths), "slope"], rows)


def plot(timings: Sequence[Timing], *, title: str, kind: str) -> bytes:
    """Plot time and memory on logarithmic axes, on which a power of the length is a straight line."""
    figure = new_figure(11, 4.6)
    left, right = figure.subplots(1, 2)
    _draw(left, timings, lambda one: one.median * 1e3, "milliseconds a pass")
    _draw(right, timings, lambda one: one.bytes / MEGABYTE, "MB held at most")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    figure.suptitle(visible_line(title), fontsize=10, parse_math=False)
    return figure_bytes(figure, kind)


def _draw(axes: Any, timings: Sequence[Timing], value: Callable[[LengthTiming], float], label: str) -> None:
    for number, timing in enumerate(timings):
        lengths = [one.length for one in timing.measures]
        values = [value(one) for one in timing.measures]
        style = {"marker": _MARKERS[number % len(_MARKERS)], "linewidth": 1.6, "markersize": 4.5}
        name, slope = visible_line(timing.mechanism.name).replace("$", r"\$"), timing.slope()
        axes.plot(lengths, values, label=name if slope is None else f"{name}  ~ n^{slope:.2f}", **style)
    ticks = sorted({one.length for timing in timings for one in timing.measures})
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(ticks, [f"{length:,}" for length in ticks])
    axes.set_xlabel("length")
    axes.set_ylabel(label)
    axes.grid(which="major", alpha=0.3)
