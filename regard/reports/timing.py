"""Time by two clocks: on the wall, and of the processor."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

WARM_UP = 8  # texts before the clocks start: what is compiled or laid out once is not what a text costs
_Given = TypeVar("_Given")
_Result = TypeVar("_Result")


class ClockRate(NamedTuple):
    """Rate per second by wall clock and by processor time; None: not measured."""

    per_second: float | None
    per_core_second: float | None

    def __truediv__(self, size: float) -> "ClockRate":
        """The same counted in units of `size`."""
        return ClockRate(*(None if value is None else value / size for value in self))


class TimeSpent(NamedTuple):
    """The time that some work took."""

    seconds: float  # on the wall, halts of the machine included
    core_seconds: float | None  # of processor time, all threads of the process together; None where it was not counted

    def __sub__(self, other: "TimeSpent") -> "TimeSpent":
        """The time since `other`."""
        wall = self.seconds - other.seconds
        if self.core_seconds is None or other.core_seconds is None:
            return TimeSpent(wall, None)
        return TimeSpent(wall, self.core_seconds - other.core_seconds)

    def rate(self, count: float) -> ClockRate:
        """`count` per second."""
        cores = None if self.core_seconds is None else count / max(self.core_seconds, 1e-9)
        return ClockRate(count / max(self.seconds, 1e-9), cores)


def timed(run: Callable[[Sequence[_Given]], _Result], texts: Sequence[_Given]) -> tuple[_Result, TimeSpent]:
    """Return the result of `run` on the texts, and its time; the first few texts run once before, as a warm-up."""
    run(texts[:WARM_UP])
    start = TimeSpent(time.perf_counter(), time.process_time())
    result = run(texts)
    return result, TimeSpent(time.perf_counter(), time.process_time()) - start
