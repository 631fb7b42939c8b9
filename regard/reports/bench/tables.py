"""What was measured of mechanisms as tables: a row each, a column for each length, and the slope."""

from collections.abc import Callable, Sequence

import torch

from regard.reports.bench.benching import MEGABYTE, Measure, Timing
from regard.reports.bench.passes import Workload
from regard.reports.compare.table import NONE, Table, number


def about(work: Workload) -> str:
    """What was done, on one line."""
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
    value: Callable[[Measure], float],
    slope: Callable[[Timing], float | None],
) -> Table:
    rows = []
    for timing in timings:
        there = {one.length: number(value(one)) for one in timing.measures}
        grows = slope(timing)
        last = NONE if grows is None else f"{grows:.2f}"
        rows.append([timing.mechanism.name, *(there.get(length, NONE) for length in lengths), last])
    return Table([unit, *(f"{length:,}" for length in lengths), "slope"], rows)
