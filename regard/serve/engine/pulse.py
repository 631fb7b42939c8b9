"""Whether a model's process is alive: it tells twice a second how far its batches are."""

from collections.abc import Mapping
from typing import Any

from regard.serve.engine.options import BEAT, Limits

LEAST_CPU = 0.01  # of a beat's time: a process that uses less is waiting for something


class Pulse:
    """What was heard of a process. Time is counted in beats of our own: a server that stood still has missed none.

    A batch may take as long as it likes while it comes on step by step. One whose steps are long shows by the time of
    the processor that it is at work; one that shows neither for `idle_after` seconds hangs.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._missed = self._idle = 0  # beats in succession
        self._still: dict[str, int] = {}  # beats for which a batch has made no step
        self._steps: dict[str, int] = {}  # as of the last beat
        self._cpu = 0.0
        self._armed = False  # what loads tells nothing

    def begin(self) -> None:
        """The process has loaded its model: from now on it tells."""
        self._armed = True

    def hear(self, said: Mapping[str, Any]) -> None:
        """A sign of life."""
        self._missed, self._armed = 0, True
        steps, cpu = said["steps"], said["cpu"]
        same = {name for name, count in steps.items() if self._steps.get(name) == count}
        self._still = {name: self._still.get(name, 0) + 1 for name in same}
        waits = same and len(same) == len(steps) and cpu - self._cpu < LEAST_CPU * BEAT
        self._idle = self._idle + 1 if waits else 0
        self._steps, self._cpu = steps, cpu

    def fault(self) -> str | None:
        """Called once a beat: what is wrong with it."""
        self._missed += self._armed
        limits = self.limits
        for beats, most, what in (
            (self._missed - 1, limits.silent_after, "no sign of life"),
            (self._idle, limits.idle_after, "a batch that neither goes on nor works"),
            (max(self._still.values(), default=0), limits.stuck_after, "a batch that does not go on"),
        ):
            if beats * BEAT >= most:
                return f"{what} for {most:g} seconds"
        return None
