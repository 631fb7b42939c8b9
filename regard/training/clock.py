"""Time on the wall and of the processor as one value, and the clock of a training that resumes."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

STARVED = 0.4  # of the threads' time


@dataclass(frozen=True)
class Spent:
    """Seconds."""

    wall: float = 0.0
    core: float = 0.0  # processor time, all threads

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.wall + other.wall, self.core + other.core)

    def __sub__(self, other: "Spent") -> "Spent":
        return Spent(self.wall - other.wall, self.core - other.core)

    def __truediv__(self, number: float) -> "Spent":
        return Spent(self.wall / number, self.core / number)

    def rates(self, amount: float) -> tuple[float, float]:
        """Amount per second on the wall, and per second of processor time."""
        return amount / max(self.wall, 1e-9), amount / max(self.core, 1e-9)


class Clock:
    """Sums what all processes of a training spend, over all its resumed parts."""

    def __init__(self) -> None:
        self.spent = Spent()
        self._last = now()

    def restart(self) -> None:
        """Begin a lap now; what passed since the last one is not counted."""
        self._last = now()

    def lap(self) -> Spent:
        """Return the time of this process since the last lap."""
        last, self._last = self._last, now()
        return self._last - last

    def add(self, laps: Sequence[Spent]) -> Spent:
        """Add a lap of every process: the wall's seconds of the first one, the processor time of all; return it."""
        lap = Spent(laps[0].wall, sum(lap.core for lap in laps))
        self.spent += lap
        return lap


class Starvation:
    """Notices that other programs have the processor: two windows of the log in succession without enough of it."""

    def __init__(self) -> None:
        self._windows, self._told = 0, False

    def warning(self, spent: Spent, threads: int) -> str:
        """Return what to tell after a window of that time, once; "" for nothing.

        Two windows, since a machine that halts spoils one.
        """
        share = spent.core / max(1e-9, spent.wall * threads)
        self._windows = self._windows + 1 if threads and share < STARVED else 0
        if self._windows < 2 or self._told:
            return ""
        self._told = True
        return (
            f"training gets {share:.0%} of the time that its threads ({threads}) could have: other programs use the "
            "processor, or too "
            "many threads share it (OMP_NUM_THREADS)"
        )


def now() -> Spent:
    """Readings of both clocks of this process."""
    return Spent(time.monotonic(), time.process_time())
