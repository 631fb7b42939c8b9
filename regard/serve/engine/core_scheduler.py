"""In the model's process: lanes of long and short texts share the cores by time, a step of a search each."""

import time
from collections.abc import Iterable, Sequence
from threading import Condition
from types import TracebackType
from typing import Self


class CoreScheduler:
    """So many cores for several lanes. Those that have something to do divide the time as their shares have it."""

    def __init__(self, cores: int, shares: Sequence[float]) -> None:
        self._free, self._shares, self._changed = cores, shares, Condition()
        self._waiting, self._batches = [0] * len(shares), [0] * len(shares)  # that wait for a core; all
        self._used = [0.0] * len(shares)  # seconds that each lane has had, divided by its share
        self._clock = 0.0

    def begin(self, lane: int) -> None:
        """Waits for a core. A lane that had nothing to do is owed nothing for it."""
        with self._changed:
            self._advance()
            if not self._batches[lane]:
                self._used[lane] = max(self._used[lane], self._clock)
            self._batches[lane] += 1
            self._take(lane)

    def give_way(self, lane: int, seconds: float) -> bool:
        """After so long with a core: whether it went to another lane meanwhile, which has had less time."""
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
        """A core is free again."""
        with self._changed:
            self._used[lane] += seconds / self._shares[lane]
            self._advance()
            self._batches[lane] -= 1
            self._free += 1
            self._changed.notify_all()

    def _advance(self) -> None:
        """Note the least time that a busy lane has had; a lane that was idle is brought up to it."""
        busy = [used for used, count in zip(self._used, self._batches, strict=True) if count]
        self._clock = max(self._clock, min(busy, default=0.0))

    def _take(self, lane: int) -> None:
        self._waiting[lane] += 1
        self._changed.wait_for(lambda: self._free > 0 and self._first() == lane)
        self._waiting[lane] -= 1
        self._free -= 1
        self._changed.notify_all()  # another core may be free for another lane

    def _first(self) -> int | None:
        """Of the lanes with a batch that waits the one that has had the least time."""
        waiting = [lane for lane, count in enumerate(self._waiting) if count]
        return min(waiting, key=lambda lane: self._used[lane], default=None)


class CoreTime:
    """A batch's time with a core, which it lends to other lanes between two steps."""

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
        """Between two steps."""
        if self.scheduler.give_way(self.lane, self._passed()):
            self._since = time.perf_counter()

    def _passed(self) -> float:
        now = time.perf_counter()
        seconds, self._since = now - self._since, now
        self.seconds += seconds
        return seconds


class Work:
    """The progress of a batch, and the texts that nobody waits for. A search calls it after every step."""

    def __init__(self, core_time: CoreTime) -> None:
        self.core_time, self.steps = core_time, 0
        self._left = frozenset[int]()

    def __call__(self) -> frozenset[int]:
        """The texts that nobody waits for, after other lanes have had their turn."""
        self.steps += 1
        self.core_time.give_way()
        return self._left

    def leave(self, texts: Iterable[int]) -> None:
        """Nobody waits for these any more. Called by the one thread that hears the server."""
        self._left |= frozenset(texts)
