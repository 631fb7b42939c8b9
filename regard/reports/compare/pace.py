"""How far a training is, how fast it goes by the last lines of its log, and how long what is left may take."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

from regard.reports.compare.log import events
from regard.training.final import FINAL

TAIL = 2**14  # bytes of a log that tell how fast it goes
Limits = Mapping[str, Any]  # max_updates, max_minutes, max_core_minutes: when a training ends


class Place(NamedTuple):
    """Where a training is.

    Seconds on the wall hold every halt of the machine, so no speed is made of their sum. That one core second takes
    `pace` on the wall is the median over the lines of the log, of which a halt is one.
    """

    update: int = 0
    seconds: float = 0.0
    core_seconds: float = 0.0  # of processor time
    pace: float | None = None  # seconds that a core second takes; None where that is not known
    per_update: float | None = None  # seconds that an update takes, with its share of the validations
    score: str = ""  # of the last validation: bleu 21.30

    @property
    def worked(self) -> float:
        """Seconds it would have taken without any halt."""
        return self.seconds if self.pace is None else self.core_seconds * self.pace

    def at_its_beginning(self) -> "Place":
        """Nothing done, and as fast."""
        return self._replace(update=0, seconds=0.0, core_seconds=0.0)


def place_of(run: Path, metric: str = "loss") -> Place:
    """By the last lines of a run's log; what cannot be read tells nothing. `metric`: that of the score."""
    lines = events(run, TAIL)
    if not lines:
        return Place()
    scores = [event[metric] for event in lines if event["event"] == "validation" and event.get(metric) is not None]
    pace, per_update = _rates(lines)
    return Place(
        lines[-1]["update"],
        lines[-1]["seconds"],
        lines[-1].get("core_seconds", 0.0),
        pace,
        per_update,
        f"{metric} {scores[-1]:.2f}" if scores else "",
    )


def _rates(lines: Sequence[Mapping[str, Any]]) -> tuple[float | None, float | None]:
    """Seconds that a core second takes, and those of an update. Processor time does not pass in a halt."""
    counted = [event for event in lines if "core_seconds" in event]  # not in the log of an older version
    marks = [(event["update"], event["seconds"], event.get("core_seconds", 0.0)) for event in counted or lines]
    if len(marks) == 1:
        marks = [(0, 0.0, 0.0), *marks]
    gaps = [tuple(b - a for a, b in zip(*both, strict=True)) for both in pairwise(marks)]
    updates, _, core_seconds = (b - a for a, b in zip(marks[0], marks[-1], strict=True))
    paces = [wall / core for _, wall, core in gaps if core > 0]
    if paces:
        pace = median(paces)
        return pace, pace * core_seconds / updates if updates else None
    each = [wall / count for count, wall, _ in gaps if count > 0]
    return None, median(each) if each else None


def kept(run: Path) -> str:
    """, dev bleu 31.20: of the weights that a run ended with."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        final = json.loads((run / FINAL).read_text(encoding="utf-8"))
        return f", dev {final['metric']} {final['score']:.2f}"
    return ""


def run_left(limits: Limits, place: Place) -> float | None:
    """Seconds until the first limit, as far as it can be guessed."""
    guesses = []
    if limits["max_updates"] is not None and place.per_update is not None:
        guesses.append((limits["max_updates"] - place.update) * place.per_update)
    if limits["max_minutes"] is not None:
        guesses.append(limits["max_minutes"] * 60 - place.seconds)
    if limits["max_core_minutes"] is not None and place.pace is not None:
        guesses.append((limits["max_core_minutes"] * 60 - place.core_seconds) * place.pace)
    return max(0.0, min(guesses)) if guesses else None


def run_whole(ended: Sequence[Place], active: Iterable[tuple[Limits, Place]]) -> float | None:
    """Seconds that a run takes from its beginning: as those that have ended, which knows of patience, too; while
    there is none, what their limits allow those at work, at their pace.
    """
    if ended:
        return mean(place.worked for place in ended)
    whole = [run_left(limits, place.at_its_beginning()) for limits, place in active if place.update]
    known = [seconds for seconds in whole if seconds is not None]
    return mean(known) if known else None


def waiting_left(limits: Limits, place: Place, whole: float | None) -> float | None:
    """Seconds for a run that is not at work: `whole`, less what it did in an earlier call."""
    if not place.update:
        return whole
    guesses = [run_left(limits, place), None if whole is None else max(0.0, whole - place.worked)]
    return min((one for one in guesses if one is not None), default=None)


def all_left(active: Sequence[float | None], waiting: Sequence[float | None], jobs: int) -> float | None:
    """Seconds until all are trained: those at work have so much left, the others follow in their order, `jobs` at once.

    None where it cannot be guessed.
    """
    known = [left for left in active if left is not None]
    following = [left for left in waiting if left is not None]
    if len(known) < len(active) or len(following) < len(waiting):
        return None
    ends = sorted([*known, *[0.0] * (jobs - len(known))])
    for left in following:
        ends = sorted([ends[0] + left, *ends[1:]])
    return ends[-1]


def duration(seconds: float) -> str:
    """40 s, 12 min, 2 h 10 min"""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
