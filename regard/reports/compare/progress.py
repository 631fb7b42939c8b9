"""How far the trainings of a comparison are, read from the logs they write anyway."""

import time
from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console
from rich.control import Control
from rich.segment import ControlType

from regard.explain.tokens import visible_line
from regard.reports.compare.pace import (
    Place,
    all_left,
    duration,
    kept,
    place_of,
    run_left,
    run_whole,
    waiting_left,
)
from regard.reports.compare.plan import Planned

TERMINAL_SECONDS, PLAIN_SECONDS = 1.0, 60.0  # between lines; where there is a terminal, one is drawn over the other


class _Active(NamedTuple):
    """A run that is being trained."""

    number: int  # of all runs
    planned: Planned

    @property
    def place(self) -> Place:
        """Where it is now."""
        return _place(self.planned)


def _place(planned: Planned) -> Place:
    return place_of(planned.path, planned.contender.experiment.training.metric)


class Watch:
    """Lines on stderr: one redrawn on a terminal, else one now and then."""

    def __init__(
        self, waiting: Sequence[Planned], jobs: int, ended: Sequence[Planned] = (), *, quiet: bool = False
    ) -> None:
        """`waiting`: the runs to train, in that order; `ended`: those that need no more training."""
        self.total, self.jobs, self.quiet = len(waiting) + len(ended), jobs, quiet
        self.console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._begun, self._ended = len(ended), list(map(_place, ended))
        self._waiting = {planned.name: (planned.limits(), _place(planned)) for planned in waiting}
        self._active: dict[str, _Active] = {}
        self._shown = time.monotonic()

    def begin(self, planned: Planned) -> None:
        """One more is trained."""
        self._begun += 1
        del self._waiting[planned.name]
        self._active[planned.name] = _Active(self._begun, planned)

    def end(self, planned: Planned) -> None:
        """It is trained."""
        place = self._active[planned.name].place
        self._ended.append(place)
        self.stop(planned, f"{place.update:,} updates in {duration(place.seconds)}{kept(planned.path)}")

    def stop(self, planned: Planned, how: str) -> None:
        """It is no longer being trained."""
        number = self._active.pop(planned.name).number
        self.say(f"run {number} of {self.total}, {planned.name}: {how}{self._left()}")

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
        if self.quiet or not self._active or time.monotonic() - self._shown < gap:
            return
        self._shown = time.monotonic()
        line = visible_line(f"{' · '.join(map(self._told, self._active.values()))}{self._left()}")
        if self.console.is_terminal:
            self.console.print(line, end="\r", overflow="ellipsis", no_wrap=True)
        else:
            self.console.print(line, soft_wrap=True)

    def _told(self, one: _Active) -> str:
        place, limits = one.place, one.planned.limits()
        of = f" of {limits['max_updates']:,}" if limits["max_updates"] else ""
        left = run_left(limits, place)
        more = [place.score, f"{duration(left)} left" if left is not None and place.update else ""]
        told = ", ".join(part for part in more if part)
        at = f"update {place.update:,}{of}" if place.update else "preparing"
        return f"run {one.number} of {self.total}, {one.planned.name}: {at}{', ' if told else ''}{told}"

    def _left(self) -> str:
        """· all trained in about 2 h 10 min, if it can be guessed."""
        active = [(one.planned.limits(), one.place) for one in self._active.values()]
        whole = run_whole(self._ended, active)
        lefts = [run_left(limits, place) for limits, place in active]
        lefts = [whole if left is None else left for left in lefts]
        waiting = [waiting_left(limits, place, whole) for limits, place in self._waiting.values()]
        seconds = all_left(lefts, waiting, self.jobs)
        return f" · all trained in about {duration(seconds)}" if seconds else ""

    def _clear(self) -> None:
        if self.console.is_terminal and not self.quiet:
            self.console.control(Control((ControlType.ERASE_IN_LINE, 2)))
