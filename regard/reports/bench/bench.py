"""Times attention mechanisms over lengths: median seconds, peak memory, and how both grow."""

import json
import math
import os
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import torch
from torch.profiler import ProfilerActivity, profile

from regard.attention import Attention
from regard.config import deferred_warnings, parse_changes, read_settings
from regard.errors import ConfigError, Fault
from regard.explain.tokens import visible_line
from regard.models.build import build_attention
from regard.models.settings import SOCKET_FIELDS, AttentionSettings
from regard.ops.memory import free_bytes, keep_memory
from regard.ops.plain import plain
from regard.reports.report import Report, figure_bytes, new_figure
from regard.reports.table import DASH, Cell, Table, number, number_cell
from regard.runs.folder import choose_device, environment
from regard.runs.texts import Say

USUAL_MECHANISMS = ("dot", "scaled_dot", "additive", "multihead", "local_predictive")
_PLAIN = " (plain)"


class Mechanism(NamedTuple):
    """A row of the table."""

    name: str
    settings: AttentionSettings
    fast: bool = True  # False: with every fast path switched off


@dataclass(frozen=True)
class _Named:
    """Settings that a word may name."""

    attention: Annotated[AttentionSettings, SOCKET_FIELDS] = field(default_factory=AttentionSettings)


def mechanisms_of(words: Sequence[str], *, heads: int | None = None, with_plain: bool = False) -> list[Mechanism]:
    """`luong`, or settings with commas between them: `score=dot,span=window,span.radius=8`; both: `luong,span=causal`.

    A group as a config has it will do, too: `{name: luong, span: local_p}`. What a word leaves open is scaled_dot over
    everywhere by softmax with one head. `heads` replaces the heads of all; `with_plain` adds each with its fast paths
    off. Raises ConfigError of all that is wrong in any word, which is then the place; warns only where nothing is.
    """
    with deferred_warnings():
        found, faults = list[Mechanism](), list[Fault]()
        twice = [word for word in dict.fromkeys(words) if words.count(word) > 1]
        faults += (Fault(word, "is given twice", "each mechanism once") for word in twice)
        for word in words or USUAL_MECHANISMS:
            try:
                settings = read_settings(_Named, {"attention": _value(word)}).attention
            except ConfigError as error:
                faults += (placed(word, fault) for fault in error.faults)
                continue
            settings = settings if heads is None else replace(settings, num_heads=heads)
            found.append(Mechanism(word, settings))
            if with_plain:
                found.append(Mechanism(f"{word}{_PLAIN}", settings, fast=False))
        if faults:
            raise ConfigError.of(faults)
        return found


def placed(word: str, fault: Fault) -> Fault:
    """Return an error of an attention, placed at its word: `luong,score.x=1: score.x`."""
    where = fault.place.removeprefix("attention").removeprefix(".")
    return fault._replace(place=": ".join(filter(None, (word or repr(word), where))))


def _value(word: str) -> str | Mapping[str, Any]:
    if word.startswith("{"):
        group: Mapping[str, Any] = parse_changes([f"attention={word}"])["attention"]
        return group
    first, *rest = re.split(r",(?=[\w.]+=)", word)
    if "=" in first:
        return parse_changes([first, *rest])
    return {"name": first, **parse_changes(rest)} if rest else first


_SHORTEST = 0.01  # seconds that a timing takes at least: quicker passes are repeated
_QUIET = {"KINETO_LOG_LEVEL": "99"}  # against the profiler's own lines on stderr
MEGABYTE = 2**20
_SEED = 1


@dataclass(frozen=True)
class Workload:
    """Sizes of the attention that every mechanism computes; as many queries as keys unless `queries` is given."""

    lengths: tuple[int, ...] = (128, 256, 512, 1024)  # keys
    queries: int | None = None
    dim: int = 256
    heads: int | None = None  # None: as the mechanism says
    batch: int = 1
    backward: bool = True  # the gradients of queries, keys and parameters, too
    rounds: int = 5
    max_memory: float | None = None  # MB a pass may take; None: half of what is free
    device: str = "cpu"


class LengthTiming(NamedTuple):
    """Time and memory of one mechanism at one length."""

    length: int
    seconds: tuple[float, ...]  # of a pass, round by round
    bytes: int  # held at once at most, beyond what was there before the pass

    @property
    def median(self) -> float:
        """The median seconds of a pass."""
        return statistics.median(self.seconds)


class Timing(NamedTuple):
    """One mechanism over the lengths, without those that would not fit into memory."""

    mechanism: Mechanism
    measures: list[LengthTiming]

    def slope(self) -> float | None:
        """Return k in time ~ length^k, by least squares over the logarithms; None for one length."""
        return slope([(one.length, one.median) for one in self.measures])

    def memory_slope(self) -> float | None:
        """Return k in memory ~ length^k."""
        return slope([(one.length, float(one.bytes)) for one in self.measures])

    def values(self) -> dict[str, Any]:
        """Return JSON values."""
        measures = [
            {"length": one.length, "seconds": list(one.seconds), "median": one.median, "bytes": one.bytes}
            for one in self.measures
        ]
        slopes = {"slope": self.slope(), "memory_slope": self.memory_slope()}
        return {"name": self.mechanism.name, **slopes, "measures": measures}


class Pass:
    """One mechanism with its inputs, ready to run."""

    def __init__(self, mechanism: Mechanism, work: Workload, length: int, device: torch.device) -> None:
        torch.manual_seed(_SEED)
        self.fast, self.backward, self.device = mechanism.fast, work.backward, device
        self.attention: Attention = build_attention(mechanism.settings, work.dim, work.dim).to(device)
        self.queries = torch.randn(work.batch, work.queries or length, work.dim, device=device)
        self.keys = torch.randn(work.batch, length, work.dim, device=device)
        width = self.attention.context_dim(work.dim)
        self.direction = torch.randn(work.batch, work.queries or length, width, device=device)
        self.inputs = [self.queries.requires_grad_(), self.keys.requires_grad_(), *self.attention.parameters()]
        self.repeats = 1

    def __call__(self) -> None:
        """Prepare and read the keys; with `backward`, compute the gradients of a weighted sum of the context."""
        with torch.set_grad_enabled(self.backward):
            if self.fast:
                self._once()
            else:
                with plain():
                    self._once()

    def _once(self) -> None:
        context = self.attention(self.queries, self.attention.remember(self.keys)).context
        if self.backward:
            torch.autograd.grad(context, self.inputs, self.direction, allow_unused=True)

    def seconds(self) -> float:
        """Return the seconds of one pass: the mean of as many passes as the clock needs."""
        self._wait()
        start = time.perf_counter()
        for _ in range(self.repeats):
            self()
        self._wait()
        return (time.perf_counter() - start) / self.repeats

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def bench(mechanisms: Sequence[Mechanism], work: Workload, say: Say = lambda line: None) -> list[Timing]:
    """Measure all mechanisms, in the order given.

    At each length every mechanism makes one pass to warm up and one whose memory is counted; then they take turns, so
    that other work on the machine slows all alike. Raises ConfigError for parts that cannot be built.
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
                peak = _peak_of(ready[place])
            if peak is None:
                over.add(place)
                ready.pop(place, None)
                megabytes = f"{expected / MEGABYTE:,.0f} MB of the {limit / MEGABYTE:,.0f} it may"
                wants = f"it would take about {megabytes} (--max-memory)"
                why = "there is not enough memory" if expected <= limit else wants
                say(f"{timing.mechanism.name}: left out from {length:,} on, {why}")
            else:
                memory[place] = peak
        for place, seconds in _in_turns(ready, work.rounds).items():
            found[place].measures.append(LengthTiming(length, seconds, memory[place]))
        times = [f"{found[one].mechanism.name} {number(found[one].measures[-1].median * 1e3)} ms" for one in ready]
        say(f"{length:,}: {', '.join(times) or 'nothing fits'}")
    return found


def slope(points: Sequence[tuple[float, float]]) -> float | None:
    """Return the slope of log y over log x by least squares; None for fewer than two points."""
    logs = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0]
    if len({x for x, _ in logs}) < 2:
        return None
    return statistics.linear_regression(*zip(*logs, strict=True)).slope


def _check(mechanisms: Sequence[Mechanism], work: Workload) -> None:
    """Raise ConfigError with all mechanisms that cannot be built."""
    faults = list[Fault]()
    for mechanism in mechanisms:
        try:
            build_attention(mechanism.settings, work.dim, work.dim)
        except ConfigError as error:
            faults += (placed(mechanism.name, fault) for fault in error.faults)
    if faults:
        raise ConfigError.of(faults)


def _peak_of(one: Pass) -> int | None:
    """Warms up → the bytes of a pass; None where there is not so much memory."""
    try:
        one()
        peak = peak_bytes(one, one.device)
    except (MemoryError, RuntimeError) as error:
        if "memory" not in str(error).lower():
            raise
        return None
    one.repeats = max(1, math.ceil(_SHORTEST / max(one.seconds(), 1e-9)))
    return peak


def _in_turns(ready: dict[int, Pass], rounds: int) -> dict[int, tuple[float, ...]]:
    """Seconds of a pass, round by round; another one begins each round."""
    seconds, order = {place: list[float]() for place in ready}, list(ready)
    for turn in range(rounds):
        first = turn % max(1, len(order))
        for place in order[first:] + order[:first]:
            seconds[place].append(ready[place].seconds())
    return {place: tuple(some) for place, some in seconds.items()}


def expected_bytes(measures: Sequence[LengthTiming], length: int) -> float:
    """Return an estimate of the memory at a length from shorter ones: by the last growth, or the square; 0: unknown."""
    if not measures:
        return 0.0
    grown = slope([(one.length, float(one.bytes)) for one in measures[-2:]])
    power = 2.0 if grown is None else min(max(grown, 1.0), 2.0)
    return float(measures[-1].bytes * (length / measures[-1].length) ** power)


# Memory


def peak_bytes(work: Callable[[], object], device: torch.device) -> int:
    """Return the peak memory of `work`, less the memory held before it."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        work()
        torch.cuda.synchronize(device)
        return torch.cuda.max_memory_allocated(device) - before
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as seen:
        work()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        seen.export_chrome_trace(str(path))
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    taken = [(event["ts"], event["args"]["Bytes"]) for event in events if event.get("name") == "[memory]"]
    return _peak([count for _, count in sorted(taken, key=lambda one: one[0])])


def _peak(taken: list[int]) -> int:
    """Return the largest prefix sum; freed memory is negative."""
    held = most = 0
    for count in taken:
        held += count
        most = max(most, held)
    return most


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
    for place, timing in enumerate(timings):
        lengths = [one.length for one in timing.measures]
        values = [value(one) for one in timing.measures]
        style = {"marker": _MARKERS[place % len(_MARKERS)], "linewidth": 1.6, "markersize": 4.5}
        name, slope = visible_line(timing.mechanism.name).replace("$", r"\$"), timing.slope()
        axes.plot(lengths, values, label=name if slope is None else f"{name}  ~ n^{slope:.2f}", **style)
    ticks = sorted({one.length for timing in timings for one in timing.measures})
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(ticks, [f"{length:,}" for length in ticks])
    axes.set_xlabel("length")
    axes.set_ylabel(label)
    axes.grid(which="major", alpha=0.3)
