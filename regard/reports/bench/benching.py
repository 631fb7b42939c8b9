"""Times attention mechanisms over lengths: median seconds, peak memory, and how both grow."""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from regard.errors import ConfigError, Fault
from regard.models.build import build_attention
from regard.ops.memory import keep_memory
from regard.reports.bench.mechanisms import placed
from regard.reports.bench.memory import free_bytes, peak_bytes
from regard.reports.bench.passes import Mechanism, Pass, Workload
from regard.reports.compare.table import number
from regard.runs.folder import choose_device, environment

SHORTEST = 0.01  # seconds that a timing takes at least: quicker passes are repeated
MEGABYTE = 2**20
Say = Callable[[str], None]


class Measure(NamedTuple):
    """One mechanism at one length."""

    length: int
    seconds: tuple[float, ...]  # of a pass, round by round
    bytes: int  # held at once at most, beyond what was there before the pass

    @property
    def median(self) -> float:
        """Seconds."""
        return statistics.median(self.seconds)


class Timing(NamedTuple):
    """One mechanism over the lengths; those that would not have fitted into memory are not there."""

    mechanism: Mechanism
    measures: list[Measure]

    def slope(self) -> float | None:
        """k in time ~ length^k, by least squares over the logarithms; None of one length."""
        return slope([(one.length, one.median) for one in self.measures])

    def memory_slope(self) -> float | None:
        """k in memory ~ length^k."""
        return slope([(one.length, float(one.bytes)) for one in self.measures])

    def values(self) -> dict[str, Any]:
        """As JSON values."""
        told = [
            {"length": one.length, "seconds": list(one.seconds), "median": one.median, "bytes": one.bytes}
            for one in self.measures
        ]
        name = self.mechanism.name
        return {"name": name, "slope": self.slope(), "memory_slope": self.memory_slope(), "measures": told}


def bench(mechanisms: Sequence[Mechanism], work: Workload, say: Say = lambda line: None) -> list[Timing]:
    """All of them, in the order given.

    At each length every mechanism makes one pass to warm up, one under watch for its memory, and then they take turns,
    so that what else the machine does hits all of them alike. Raises ConfigError for parts that cannot be built.
    """
    device = choose_device(work.device)
    keep_memory()  # as training and prediction do
    _check(mechanisms, work)
    limit = (work.max_memory * MEGABYTE) if work.max_memory is not None else free_bytes(device) / 2
    found: list[Timing] = [Timing(mechanism, []) for mechanism in mechanisms]
    over: set[int] = set()
    for length in sorted(work.lengths):
        ready, memory = dict[int, Pass](), dict[int, int]()
        for place, timing in enumerate(found):
            if place in over:
                continue
            expected = expected_bytes(timing.measures, length)
            peak = None
            if expected <= limit:
                ready[place] = Pass(timing.mechanism, work, length, device)
                peak = _tried(ready[place])
            if peak is None:
                over.add(place)
                ready.pop(place, None)
                say(f"{timing.mechanism.name}: left out from {length:,} on, {_too_much(expected, limit)}")
            else:
                memory[place] = peak
        for place, seconds in _in_turns(ready, work.rounds).items():
            found[place].measures.append(Measure(length, seconds, memory[place]))
        told = [f"{found[one].mechanism.name} {number(found[one].measures[-1].median * 1e3)} ms" for one in ready]
        say(f"{length:,}: {', '.join(told) or 'nothing fits'}")
    return found


def report(timings: Sequence[Timing], work: Workload) -> dict[str, Any]:
    """Everything that was measured, and on what, as JSON values."""
    return {"workload": asdict(work), "environment": environment(), "mechanisms": [one.values() for one in timings]}


def slope(points: Sequence[tuple[float, float]]) -> float | None:
    """Of the line through (log x, log y) that is nearest by least squares; None of fewer than two places."""
    logs = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0]
    if len({x for x, _ in logs}) < 2:
        return None
    return statistics.linear_regression(*zip(*logs, strict=True)).slope


def _check(mechanisms: Sequence[Mechanism], work: Workload) -> None:
    """Raises ConfigError of all that cannot be built."""
    faults = list[Fault]()
    for mechanism in mechanisms:
        try:
            build_attention(mechanism.settings, work.dim, work.dim)
        except ConfigError as error:
            faults += (placed(mechanism.name, fault) for fault in error.faults)
    if faults:
        raise ConfigError.of(faults)


def _tried(one: Pass) -> int | None:
    """Warms up → the bytes of a pass; None where there is not so much memory."""
    try:
        one()
        peak = peak_bytes(one, one.device)
    except (MemoryError, RuntimeError) as error:
        if "memory" not in str(error).lower():
            raise
        return None
    one.repeats = max(1, math.ceil(SHORTEST / max(one.seconds(), 1e-9)))
    return peak


def _in_turns(ready: dict[int, Pass], rounds: int) -> dict[int, tuple[float, ...]]:
    """Seconds of a pass, round by round; another one begins each round."""
    seconds, order = {place: list[float]() for place in ready}, list(ready)
    for turn in range(rounds):
        first = turn % max(1, len(order))
        for place in order[first:] + order[:first]:
            seconds[place].append(ready[place].seconds())
    return {place: tuple(some) for place, some in seconds.items()}


def expected_bytes(measures: Sequence[Measure], length: int) -> float:
    """Memory at a length by that of shorter ones: as it grew last, or with the square; 0 where there are none."""
    if not measures:
        return 0.0
    grown = slope([(one.length, float(one.bytes)) for one in measures[-2:]])
    power = 2.0 if grown is None else min(max(grown, 1.0), 2.0)
    return float(measures[-1].bytes * (length / measures[-1].length) ** power)


def _too_much(expected: float, limit: float) -> str:
    if expected <= limit:
        return "there is not enough memory"
    return f"it would take about {expected / MEGABYTE:,.0f} MB of the {limit / MEGABYTE:,.0f} it may (--max-memory)"
