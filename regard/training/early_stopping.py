"""Which checkpoints are the best, and when waiting for a better one is over."""

import math
from copy import copy
from typing import Any, NamedTuple


class Ranked(NamedTuple):
    """A validation."""

    score: float
    update: int
    loss: float | None = None  # of the dev part: it tells equal scores apart


class EarlyStopping:
    """The k best updates by a score, of equal ones by the loss; counts validations since the score last improved.

    With `keep_last` it also knows the updates of that many last validations.
    """

    def __init__(
        self, metric: str, keep: int, patience: int | None, *, higher_is_better: bool, keep_last: int = 0
    ) -> None:
        self.metric, self.keep, self.patience, self.keep_last = metric, max(1, keep), patience, keep_last
        self.higher_is_better = higher_is_better
        self.ranked: list[Ranked] = []  # best first
        self.latest: list[int] = []  # updates, the last one at the end
        self.waited = 0

    def add(self, score: float, update: int, loss: float | None = None, *, waiting: bool = True) -> bool:
        """Notes a validation; True if it is the best so far. A score that is not a number is never kept.

        Unless it is `waiting`, as while the learning rate still rises, patience does not run out.
        """
        if math.isnan(score):
            self.waited += waiting
            return False
        self.latest = [*self.latest, update][-self.keep_last :] if self.keep_last else []
        before = self.ranked[:1]
        better = not before or self._place(Ranked(score, 0))[0] < self._place(before[0])[0]
        self.waited = 0 if better else self.waited + waiting
        self.ranked = sorted([*self.ranked, Ranked(score, update, loss)], key=self._place)[: self.keep]
        return self.ranked[:1] != before

    def forget(self, update: int) -> None:
        """An update whose checkpoint there is not."""
        self.ranked = [one for one in self.ranked if one.update != update]
        self.latest = [one for one in self.latest if one != update]

    def copy(self) -> "EarlyStopping":
        """What is added to it stays out of this one."""
        return copy(self)

    @property
    def updates(self) -> list[int]:
        """Of the kept ones, the best first."""
        return [one.update for one in self.ranked]

    @property
    def kept(self) -> list[int]:
        """Updates whose checkpoints are needed: the best and the last."""
        return [*dict.fromkeys([*self.updates, *self.latest])]

    @property
    def ended(self) -> str:
        """Why training should end: patience has run out; "" while it has not."""
        if self.patience is None or self.waited < max(1, self.patience):
            return ""
        return f"no better {self.metric} in {self.patience} validations"

    def state(self) -> dict[str, Any]:
        """For a checkpoint."""
        latest = {"latest": self.latest} if self.keep_last else {}
        return {"ranked": self.ranked, "waited": self.waited, **latest}

    def restore(self, state: dict[str, Any]) -> None:
        """The way back."""
        self.ranked, self.waited = [Ranked(*one) for one in state["ranked"]], state["waited"]
        self.latest = state.get("latest", [])[-self.keep_last :] if self.keep_last else []

    def _place(self, one: Ranked) -> tuple[float, float, int]:
        """The smaller, the better; a loss that is unknown or no number is the worst, and the earlier wins at last."""
        loss = math.inf if one.loss is None or math.isnan(one.loss) else one.loss
        return -one.score if self.higher_is_better else one.score, loss, one.update
