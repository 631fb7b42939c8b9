"""Time on the wall and of the processor as one value, the clock of a training that resumes, and its limits."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regard.training.settings import TrainingSettings

STARVED = 0.4  # of the threads' time
WARMUP = 0.25  # of the updates that the limits allow: the longest warm-up
_MEASURED = 0.02  # of a time limit, after which the pace so far tells how many updates it allows


@dataclass(frozen=True)
class ClockTime:
    """Seconds."""

    wall: float = 0.0
    core: float = 0.0  # processor time, all threads

    def __add__(self, other: "ClockTime") -> "ClockTime":
        return ClockTime(self.wall + other.wall, self.core + other.core)

    def __sub__(self, other: "ClockTime") -> "ClockTime":
        return ClockTime(self.wall - other.wall, self.core - other.core)

    def __truediv__(self, number: float) -> "ClockTime":
        return ClockTime(self.wall / number, self.core / number)

    def rates(self, amount: float) -> tuple[float, float]:
        """Amount per second on the wall, and per second of processor time."""
        return amount / max(self.wall, 1e-9), amount / max(self.core, 1e-9)


class Clock:
    """Sums what all processes of a training spend, over all its resumed parts."""

    def __init__(self) -> None:
        self.spent = ClockTime()
        self._last = now()

    def restart(self) -> None:
        """Begin a lap now; what passed since the last one is not counted."""
        self._last = now()

    def lap(self) -> ClockTime:
        """Return the time of this process since the last lap."""
        last, self._last = self._last, now()
        return self._last - last

    def add(self, laps: Sequence[ClockTime]) -> ClockTime:
        """Add a lap of every process: the wall's seconds of the first one, the processor time of all; return it."""
        lap = ClockTime(laps[0].wall, sum(lap.core for lap in laps))
        self.spent += lap
        return lap


class Starvation:
    """Notices that other programs have the processor: two windows of the log in succession without enough of it."""

    def __init__(self) -> None:
        self._windows, self._warned = 0, False

    def warning(self, spent: ClockTime, threads: int) -> str:
        """Return the message after a window of that time, once; "" for none.

        Two windows, since a machine that halts spoils one.
        """
        share = spent.core / max(1e-9, spent.wall * threads)
        self._windows = self._windows + 1 if threads and share < STARVED else 0
        if self._windows < 2 or self._warned:
            return ""
        self._warned = True
        return (
            f"training gets {share:.0%} of the time that its threads ({threads}) could have: other programs use the "
            "processor, or too "
            "many threads share it (OMP_NUM_THREADS)"
        )


def now() -> ClockTime:
    """Readings of both clocks of this process."""
    return ClockTime(time.monotonic(), time.process_time())


def limit_reached(settings: TrainingSettings, update: int, epoch: int, spent: ClockTime) -> str:
    """Return which limit ends training; "" while none is reached."""
    if settings.max_updates is not None and update >= settings.max_updates:
        return f"max_updates={settings.max_updates:,} is {_reached(update, settings.max_updates, 'updates')}"
    if settings.max_epochs is not None and epoch >= settings.max_epochs:
        return f"max_epochs={settings.max_epochs} is {_reached(epoch, settings.max_epochs, 'epochs')}"
    if settings.max_minutes is not None and spent.wall >= settings.max_minutes * 60:
        return f"max_minutes={settings.max_minutes:g} is reached"
    if settings.max_core_minutes is not None and spent.core >= settings.max_core_minutes * 60:
        return f"max_core_minutes={settings.max_core_minutes:g} is reached"
    return ""


def _reached(done: int, limit: int, unit: str) -> str:
    """Say how far a limit is reached; a run that goes on may be beyond the one it is given now."""
    return "reached" if done == limit else f"less than the {done:,} {unit} that are done"


def seconds_left(settings: TrainingSettings, update: int, spent: ClockTime, recent: ClockTime) -> float | None:
    """Return the seconds until the first limit, at the pace of the `recent` updates; None without such a limit.

    A machine that halts adds to `spent` on the wall and not to its processor time, so the latter is counted.
    """
    pace = recent.wall / max(1e-9, recent.core)
    guesses = []
    if settings.max_updates is not None:
        guesses.append((settings.max_updates - update) * spent.core / max(1, update) * pace)
    if settings.max_minutes is not None:
        guesses.append(settings.max_minutes * 60 - spent.wall)
    if settings.max_core_minutes is not None:
        guesses.append((settings.max_core_minutes * 60 - spent.core) * pace)
    return max(0.0, min(guesses)) if guesses else None


def allowed_updates(settings: TrainingSettings, of_epochs: Callable[[int], int]) -> int | None:
    """Return the updates that the limits of updates and epochs allow, the latter by `of_epochs`; None without one."""
    found = [] if settings.max_updates is None else [settings.max_updates]
    if settings.max_epochs is not None:
        found.append(of_epochs(settings.max_epochs))
    return min(found, default=None)


def updates_in_time(settings: TrainingSettings, update: int, spent: ClockTime) -> int | None:
    """Return the updates that the time limits allow, at the pace so far; None without one, or while it is too early."""
    limits = ((settings.max_minutes, spent.wall), (settings.max_core_minutes, spent.core))
    shares = [seconds / (60 * limit) for limit, seconds in limits if limit]
    share = max(shares, default=0.0)
    return round(update / share) if update and share >= _MEASURED else None


def longest_warmup(allowed: int) -> int:
    """Return the maximum warm-up, in updates, for a maximum number of updates."""
    return max(1, int(WARMUP * allowed))
