"""How fast a model is, as measured while it works: how much goes into a batch, when to ask again."""

import math

from regard.serve.engine.options import Limits, Options

Kind = tuple[Options, bool]

LEAST = 64.0  # pieces of a batch: smaller ones cost more in calls than they gain in waiting
HEED, QUICK_HEED = 0.2, 0.5  # how much the latest batch counts beside those before, in averages and in sizes
LONGEST_WAIT = 60  # seconds
KINDS = 64  # kinds of requests whose speed is remembered


class Pace:
    """Batches hold at most `max_batch_tokens`, and fewer where those would take longer than `max_batch_seconds`."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.speed = 1000.0  # pieces per second, as measured while it was warmed up
        self.item_seconds = 0.0  # of a text, in batches of late
        self._budgets: dict[Kind, float] = {}

    def warmed(self, speed: float) -> None:
        """What the model's process has measured."""
        self.speed = max(speed, 1.0)
        self._budgets.clear()

    def budget(self, kind: Kind) -> float:
        """Pieces, padding included, of a batch of this kind."""
        quick = self.speed * self.limits.max_batch_seconds
        return self._bounded(self._budgets.get(kind, quick / math.sqrt(kind[0].n_best)))

    def note(self, kind: Kind, items: int, size: int, seconds: float, *, full: bool) -> None:
        """A batch of `size` pieces has taken so long; `full`: there was more to do than it had room for."""
        each = seconds / items
        self.item_seconds += (HEED if self.item_seconds else 1.0) * (each - self.item_seconds)
        quick = seconds < self.limits.max_batch_seconds
        if full or not quick:
            before = self.budget(kind)
            wanted = size * self.limits.max_batch_seconds / max(seconds, 1e-6)
            if len(self._budgets) >= KINDS:
                self._budgets.clear()
            self._budgets[kind] = self._bounded(
                before + QUICK_HEED * (min(max(wanted, before / 2), before * 2) - before)
            )

    def seconds_for(self, items: int) -> int:
        """Whole seconds, at least one, until so many texts are answered."""
        return min(max(math.ceil(items * self.item_seconds), 1), LONGEST_WAIT)

    def _bounded(self, size: float) -> float:
        return min(max(size, LEAST), self.limits.max_batch_tokens)
