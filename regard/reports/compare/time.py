"""How far a training is, by the log it writes anyway, and how long what is left may take."""

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from regard.training.final import FINAL
from regard.training.progress import METRICS_FILE

TAIL = 2**14  # bytes of a log that tell how far it is


class Place(NamedTuple):
    """Where a training is."""

    update: int = 0
    seconds: float = 0.0
    core_seconds: float = 0.0  # of processor time
    score: str = ""  # of the last validation: bleu 21.30


def place_of(run: Path) -> Place:
    """The last lines of a run's log; what cannot be read tells nothing."""
    place = Place()
    with suppress(OSError), (run / METRICS_FILE).open("rb") as file:
        file.seek(max(0, file.seek(0, 2) - TAIL))
        for line in file.read().splitlines():
            with suppress(ValueError, KeyError, TypeError):
                place = _after(place, json.loads(line))
    return place


def _after(place: Place, event: dict[str, Any]) -> Place:
    seconds, core_seconds = float(event["seconds"]), float(event.get("core_seconds", 0.0))
    place = place._replace(update=int(event["update"]), seconds=seconds, core_seconds=core_seconds)
    if event["event"] == "validation":
        name = "bleu" if "bleu" in event else "loss"
        place = place._replace(score=f"{name} {event[name]:.2f}")
    return place


def kept(run: Path) -> str:
    """, dev bleu 31.20: of the weights that a run ended with."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        final = json.loads((run / FINAL).read_text(encoding="utf-8"))
        return f", dev {final['metric']} {final['score']:.2f}"
    return ""


def run_left(limits: dict[str, Any], place: Place) -> float | None:
    """Seconds until the first limit, as far as it can be guessed."""
    guesses = []
    if limits["max_updates"] is not None and place.update:
        guesses.append((limits["max_updates"] - place.update) * place.seconds / place.update)
    if limits["max_minutes"] is not None:
        guesses.append(limits["max_minutes"] * 60 - place.seconds)
    if limits["max_core_minutes"] is not None and place.core_seconds:
        guesses.append((limits["max_core_minutes"] * 60 / place.core_seconds - 1) * place.seconds)
    return max(0.0, min(guesses)) if guesses else None


def all_left(active: Sequence[float | None], waiting: int, whole: float | None, jobs: int) -> float | None:
    """Seconds until all are trained: those at work have so much left, each of the others takes `whole`, `jobs` at once.

    None where it cannot be guessed.
    """
    known = [left for left in active if left is not None]
    if len(known) < len(active) or (waiting and whole is None):
        return None
    ends = sorted([*known, *[0.0] * (jobs - len(known))])
    for _ in range(waiting):
        ends = sorted([ends[0] + (whole or 0.0), *ends[1:]])
    return ends[-1]


def duration(seconds: float) -> str:
    """40 s, 12 min, 2 h 10 min"""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
