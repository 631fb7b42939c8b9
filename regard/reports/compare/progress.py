"""How far the trainings of a comparison are, read from the logs they write anyway."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from rich.console import Console
from rich.control import Control
from rich.segment import ControlType

from regard.explain.tokens import visible_line
from regard.reports.compare.plan import Planned
from regard.reports.compare.time import all_left, duration, kept, place_of, run_left

TERMINAL_SECONDS, PLAIN_SECONDS = 1.0, 60.0  # between lines; where there is a terminal, one is drawn over the other


class _Active(NamedTuple):
    """A run that is being trained."""

    number: int  # of all runs
    planned: Planned
    since: float


class Watch:
    """Lines on stderr: one redrawn on a terminal, else one now and then."""

    def __init__(self, total: int, finished: int, jobs: int, *, quiet: bool = False) -> None:
        self.total, self.begun, self.jobs, self.quiet = total, finished, jobs, quiet
        self.console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._active: dict[str, _Active] = {}
        self._lasted: list[float] = []  # seconds that runs took from begin to end
        self._shown = time.monotonic()
        self._lock = threading.Lock()

    def begin(self, planned: Planned) -> None:
        """One more is trained."""
        with self._lock:
            self.begun += 1
            self._active[planned.name] = _Active(self.begun, planned, time.monotonic())

    def end(self, planned: Planned, how: str = "") -> None:
        """It is no longer; without a word on how, as it should be."""
        with self._lock:
            ended = self._active.pop(planned.name)
            if not how:
                place = place_of(planned.path)
                self._lasted.append(time.monotonic() - ended.since)
                how = f"{place.update:,} updates in {duration(place.seconds)}{kept(planned.path)}"
            self.say(f"run {ended.number} of {self.total}, {planned.name}: {how}{self._left()}")

    def say(self, line: str) -> None:
        """Something a person should know."""
        if not self.quiet:
            self._clear()
            self.console.print(visible_line(line), soft_wrap=True)

    def warn(self, line: str) -> None:
        """Something a person must know."""
        self._clear()
        self.console.print(f"warning: {visible_line(line)}", soft_wrap=True, style="yellow")

    def draw(self) -> None:
        """Where all are now, if it is time to say so again."""
        gap = TERMINAL_SECONDS if self.console.is_terminal else PLAIN_SECONDS
        if self.quiet or time.monotonic() - self._shown < gap:
            return
        with self._lock:
            self._shown = time.monotonic()
            parts = [self._told(one) for one in self._active.values()]
            if parts:
                line = f"{' · '.join(parts)}{self._left()}"
                if self.console.is_terminal:
                    self.console.print(visible_line(line), end="\r", overflow="ellipsis", no_wrap=True)
                else:
                    self.console.print(visible_line(line), soft_wrap=True)

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """Draws once a second while inside."""
        over = threading.Event()

        def draw() -> None:
            while not over.wait(1.0):
                self.draw()

        thread = threading.Thread(target=draw, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            self._clear()

    def _told(self, one: "_Active") -> str:
        place, limits = place_of(one.planned.path), one.planned.limits()
        of = f" of {limits['max_updates']:,}" if limits["max_updates"] else ""
        left = run_left(limits, place)
        more = [place.score, f"{duration(left)} left" if left is not None and place.update else ""]
        told = ", ".join(part for part in more if part)
        at = f"update {place.update:,}{of}" if place.update else "preparing"
        return f"run {one.number} of {self.total}, {one.planned.name}: {at}{', ' if told else ''}{told}"

    def _left(self) -> str:
        """· all trained in about 2 h 10 min, if it can be guessed."""
        lefts, lengths = list[float | None](), list(self._lasted)
        for one in self._active.values():
            place = place_of(one.planned.path)
            lefts.append(run_left(one.planned.limits(), place))
            if not self._lasted and lefts[-1] is not None and place.update:
                lengths.append(max(time.monotonic() - one.since, place.seconds) + lefts[-1])
        whole = sum(lengths) / len(lengths) if lengths else None
        waiting = self.total - self.begun
        lefts = [whole if left is None else left for left in lefts]
        seconds = all_left(lefts, waiting, whole, self.jobs)
        return f" · all trained in about {duration(seconds)}" if seconds else ""

    def _clear(self) -> None:
        if self.console.is_terminal and not self.quiet:
            self.console.control(Control((ControlType.ERASE_IN_LINE, 2)))
