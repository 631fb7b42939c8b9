"""In the model's process: a batch under way, as the search, the server and whoever watches see it."""

from collections.abc import Iterable

from regard.serve.engine.core_scheduler import CoreTime


class Work:
    """How far a batch is, and which of its texts nobody waits for. A search calls it after every step."""

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
