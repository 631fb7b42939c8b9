"""Progress of the trainings of a comparison and an estimate of the time left, from their logs."""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

from rich.console import Console
from rich.control import Control
from rich.segment import ControlType

from regard.explain.tokens import visible_line
from regard.reports.compare.plan import PlannedRun
from regard.reports.timing import TimeSpent
from regard.training.checkpoint import FINAL, METRICS_FILE

_TAIL = 2**14  # last bytes of a log, from which the speed of a training is computed
REDRAW_SECONDS, LINE_SECONDS = 1.0, 60.0  # between lines; on a terminal each replaces the one before
_Limits = Mapping[str, Any]  # max_updates, max_minutes, max_core_minutes
Event = dict[str, Any]


class Watch:
    """Progress on stderr: one line updated in place on a terminal, else a line now and then."""

    def __init__(
        self, waiting: Sequence[PlannedRun], jobs: int, ended: Sequence[PlannedRun] = (), *, quiet: bool = False
    ) -> None:
        """`waiting`: the runs to train, in that order; `ended`: those that need no more training."""
        self.total, self.jobs, self.quiet = len(waiting) + len(ended), jobs, quiet
        self.console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._begun, self._ended = len(ended), list(map(_position, ended))
        self._waiting = {run.name: (run.limits(), _position(run)) for run in waiting}
        self._active: dict[str, tuple[int, PlannedRun]] = {}  # with its number among all
        self._drawn, self._printed = time.monotonic(), ""  # time and text of the last line of progress

    def begin(self, run: PlannedRun) -> None:
        """Count a run as being trained."""
        self._begun += 1
        del self._waiting[run.name]
        self._active[run.name] = (self._begun, run)

    def end(self, run: PlannedRun) -> None:
        """Report that a run is trained."""
        position = _position(run)
        self._ended.append(position)
        spent = duration(position.spent.seconds)
        self.stop(run, f"{position.update:,} updates in {spent}{final_score(run.path)}")

    def stop(self, run: PlannedRun, how: str) -> None:
        """Report why a run is no longer being trained."""
        number, _ = self._active.pop(run.name)
        self.say(f"run {number} of {self.total}, {run.name}: {how}{self._left()}")

    def say(self, line: str) -> None:
        """Print a line, unless quiet."""
        if not self.quiet:
            self._clear()
            self.console.print(visible_line(line), soft_wrap=True)

    def warn(self, line: str) -> None:
        """Print a warning."""
        self._clear()
        self.console.print(f"warning: {visible_line(line)}", soft_wrap=True, style="yellow")

    def draw(self) -> None:
        """Print the progress of all runs, if it is time to."""
        gap = REDRAW_SECONDS if self.console.is_terminal else LINE_SECONDS
        if self.quiet or not self._active or time.monotonic() - self._drawn < gap:
            return
        self._drawn = time.monotonic()
        runs = [f"run {number} of {self.total}, {run.name}: {_status(run)}" for number, run in self._active.values()]
        line = visible_line(f"{' · '.join(runs)}{self._left()}")
        if self.console.is_terminal:
            self.console.print(line, end="\r", overflow="ellipsis", no_wrap=True)
        elif line != self._printed:
            self.console.print(line, soft_wrap=True)
        self._printed = line

    def _left(self) -> str:
        """· all trained in about 2 h 10 min, if that can be estimated."""
        active = [(run.limits(), _position(run)) for _, run in self._active.values()]
        whole = seconds_per_run(self._ended, active)
        left = [seconds_to_limit(limits, position) for limits, position in active]
        waiting = [seconds_left_waiting(limits, position, whole) for limits, position in self._waiting.values()]
        seconds = seconds_left_of_all([whole if one is None else one for one in left], waiting, self.jobs)
        return f" · all trained in about {duration(seconds)}" if seconds else ""

    def _clear(self) -> None:
        if self.console.is_terminal and not self.quiet:
            self.console.control(Control((ControlType.ERASE_IN_LINE, 2)))


def _status(run: PlannedRun) -> str:
    """update 250 of 1,000, bleu 21.30, 6 min left"""
    position, limits = _position(run), run.limits()
    if not position.update:
        return ", ".join(filter(None, ["preparing", position.score]))
    of = f" of {limits['max_updates']:,}" if limits["max_updates"] else ""
    left = seconds_to_limit(limits, position)
    shown = [f"update {position.update:,}{of}", position.score, "" if left is None else f"{duration(left)} left"]
    return ", ".join(filter(None, shown))


# Logs


def events(run: Path, last: int | None = None) -> list[Event]:
    """Return the complete lines of a run's log, which may be truncated; [] without a log.

    `last`: read only this number of bytes at its end.
    """
    found = list[Event]()
    with suppress(OSError), (run / METRICS_FILE).open("rb") as file:
        if last is not None:
            file.seek(max(0, file.seek(0, 2) - last))
        for line in file.read().splitlines():
            with suppress(ValueError):
                event = json.loads(line)
                if isinstance(event, dict) and {"event", "update", "seconds"} <= event.keys():
                    found.append(event)
    return found


def spent_at(event: Event) -> TimeSpent:
    """The time of training up to an event; an older version did not log processor time."""
    return TimeSpent(event["seconds"], event.get("core_seconds"))


class TrainingPosition(NamedTuple):
    """Progress and speed of a training.

    Wall time includes every halt of the machine, so the speed is not its mean: `pace` is the median over the lines of
    the log, and a halt affects one line.
    """

    update: int = 0
    spent: TimeSpent = TimeSpent(0.0, 0.0)
    pace: float | None = None  # seconds on the wall per core second; None where that is not known
    per_update: float | None = None  # seconds on the wall, with its share of the validations
    score: str = ""  # of the last validation: bleu 21.30

    @property
    def work_seconds(self) -> float:
        """Seconds on the wall without any halt."""
        return self.spent.seconds if self.pace is None else (self.spent.core_seconds or 0.0) * self.pace

    def at_start(self) -> "TrainingPosition":
        """Nothing done, and as fast."""
        return self._replace(update=0, spent=TimeSpent(0.0, 0.0))


def position_of(run: Path, metric: str = "loss") -> TrainingPosition:
    """The position by the last lines of a run's log. `metric`: that of the score."""
    lines = events(run, _TAIL)
    if not lines:
        return TrainingPosition()
    scores = [event[metric] for event in lines if event["event"] == "validation" and event.get(metric) is not None]
    score = f"{metric} {scores[-1]:.2f}" if scores else ""
    return TrainingPosition(lines[-1]["update"], spent_at(lines[-1]), *_pace(lines), score)


def _position(run: PlannedRun) -> TrainingPosition:
    return position_of(run.path, run.contender.experiment.training.metric)


def _pace(lines: Sequence[Event]) -> tuple[float | None, float | None]:
    """Return wall seconds per core second, and per update. Processor time does not pass in a halt."""
    counted = [event for event in lines if "core_seconds" in event]
    marks = [(event["update"], event["seconds"], event.get("core_seconds", 0.0)) for event in counted or lines]
    if len(marks) == 1:
        marks = [(0, 0.0, 0.0), *marks]
    gaps = [tuple(b - a for a, b in zip(*both, strict=True)) for both in pairwise(marks)]
    paces = [wall / core for _, wall, core in gaps if core > 0]
    if paces:
        pace, updates = median(paces), marks[-1][0] - marks[0][0]
        return pace, pace * (marks[-1][2] - marks[0][2]) / updates if updates else None
    each = [wall / count for count, wall, _ in gaps if count > 0]
    return None, median(each) if each else None


def final_score(run: Path) -> str:
    """, dev bleu 31.20: the score of the weights that a run ended with."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        final = json.loads((run / FINAL).read_text(encoding="utf-8"))
        return f", dev {final['metric']} {final['score']:.2f}"
    return ""


# Time left


def seconds_to_limit(limits: _Limits, position: TrainingPosition) -> float | None:
    """Seconds until the first limit that can be estimated."""
    found, spent = [], position.spent
    if limits["max_updates"] is not None and position.per_update is not None:
        found.append((limits["max_updates"] - position.update) * position.per_update)
    if limits["max_minutes"] is not None:
        found.append(limits["max_minutes"] * 60 - spent.seconds)
    if limits["max_core_minutes"] is not None and position.pace is not None:
        found.append((limits["max_core_minutes"] * 60 - (spent.core_seconds or 0.0)) * position.pace)
    return max(0.0, min(found)) if found else None


def seconds_per_run(
    ended: Sequence[TrainingPosition], active: Iterable[tuple[_Limits, TrainingPosition]]
) -> float | None:
    """Return seconds of a whole run: the mean of the runs that have ended; before that, by the limits."""
    if ended:
        return mean(position.work_seconds for position in ended)
    estimates = [seconds_to_limit(limits, position.at_start()) for limits, position in active if position.update]
    known = [seconds for seconds in estimates if seconds is not None]
    return mean(known) if known else None


def seconds_left_waiting(limits: _Limits, position: TrainingPosition, whole: float | None) -> float | None:
    """Return seconds for a waiting run: `whole`, less the time of an earlier call."""
    if not position.update:
        return whole
    estimates = [seconds_to_limit(limits, position), None if whole is None else max(0.0, whole - position.work_seconds)]
    return min((one for one in estimates if one is not None), default=None)


def seconds_left_of_all(active: Sequence[float | None], waiting: Sequence[float | None], jobs: int) -> float | None:
    """Return seconds until all are trained, `jobs` at once; None: unknown.

    Active runs need `active` more; the others follow in their order.
    """
    now = [seconds for seconds in active if seconds is not None]
    then = [seconds for seconds in waiting if seconds is not None]
    if len(now) < len(active) or len(then) < len(waiting):
        return None
    ends = sorted([*now, *[0.0] * (jobs - len(now))])
    for seconds in then:
        ends = sorted([ends[0] + seconds, *ends[1:]])
    return ends[-1]


def duration(seconds: float) -> str:
    """40 s, 12 min, 2 h 10 min"""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
