"""Core scheduling in the model's process: long and short texts share the cores, one search step at a time."""

import time
from collections.abc import Iterable, Sequence
from threading import Condition
from types import TracebackType
from typing import Self


class CoreScheduler:
    """Cores shared by several lanes. Busy lanes divide the time in proportion to their shares."""

    def __init__(self, cores: int, shares: Sequence[float]) -> None:
        self._free, self._shares, self._changed = cores, shares, Condition()
        self._waiting, self._batches = [0] * len(shares), [0] * len(shares)  # waiting for a core; all
        self._used = [0.0] * len(shares)  # used seconds of each lane, divided by its share
        self._clock = 0.0

    def begin(self, lane: int) -> None:
        """Wait for a core. A lane that was idle gets no credit for it."""
        with self._changed:
            self._advance()
            if not self._batches[lane]:
                self._used[lane] = max(self._used[lane], self._clock)
            self._batches[lane] += 1
            self._take(lane)

    def give_way(self, lane: int, seconds: float) -> bool:
        """Return True if another lane, with less time used, took the core after this long."""
        with self._changed:
            self._used[lane] += seconds / self._shares[lane]
            other = self._first()
            if other is None or self._used[other] >= self._used[lane]:
                return False
            self._free += 1
            self._changed.notify_all()
            self._take(lane)
            return True

    def end(self, lane: int, seconds: float) -> None:
        """Release a core."""
        with self._changed:
            self._used[lane] += seconds / self._shares[lane]
            self._advance()
            self._batches[lane] -= 1
            self._free += 1
            self._changed.notify_all()

    def _advance(self) -> None:
        """Update the minimum of the time used by busy lanes; an idle lane is raised to it."""
        busy = [used for used, count in zip(self._used, self._batches, strict=True) if count]
        self._clock = max(self._clock, min(busy, default=0.0))

    def _take(self, lane: int) -> None:
        self._waiting[lane] += 1
        self._changed.wait_for(lambda: self._free > 0 and self._first() == lane)
        self._waiting[lane] -= 1
        self._free -= 1
        self._changed.notify_all()  # for another free core and lane

    def _first(self) -> int | None:
        """Return the lane with a waiting batch and the least time used."""
        waiting = [lane for lane, count in enumerate(self._waiting) if count]
        return min(waiting, key=lambda lane: self._used[lane], default=None)


class CoreTime:
    """A batch's time on a core, which it yields to other lanes between two steps."""

    def __init__(self, scheduler: CoreScheduler, lane: int) -> None:
        self.scheduler, self.lane, self.seconds = scheduler, lane, 0.0
        self._since = 0.0

    def __enter__(self) -> Self:
        self.scheduler.begin(self.lane)
        self._since = time.perf_counter()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.scheduler.end(self.lane, self._passed())

    def give_way(self) -> None:
        """Yield the core between two steps."""
        if self.scheduler.give_way(self.lane, self._passed()):
            self._since = time.perf_counter()

    def _passed(self) -> float:
        now = time.perf_counter()
        seconds, self._since = now - self._since, now
        self.seconds += seconds
        return seconds


class Work:
    """The progress of a batch, and its unwanted texts. A search calls it after every step."""

    def __init__(self, core_time: CoreTime) -> None:
        self.core_time, self.steps = core_time, 0
        self._left = frozenset[int]()

    def __call__(self) -> frozenset[int]:
        """Return the unwanted texts, after a turn of the other lanes."""
        self.steps += 1
        self.core_time.give_way()
        return self._left

    def leave(self, texts: Iterable[int]) -> None:
        """Mark texts as unwanted. Called only by the thread that reads the server's messages."""
        self._left |= frozenset(texts)
