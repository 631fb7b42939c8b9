"""Which checkpoints are the best, and when waiting for a better one is over."""

import math
from typing import Any

from regard.evaluation import METRICS

LOSSES = ("loss", "perplexity")  # that a validation gives besides metrics


class Best:
    """The k best updates by a score; counts validations since the last improvement."""

    def __init__(self, metric: str, keep: int, patience: int | None) -> None:
        self.metric, self.keep, self.patience = metric, max(1, keep), patience
        self.higher_is_better = higher_is_better(metric) is True
        self.ranked: list[tuple[float, int]] = []  # (score, update), best first
        self.waited = 0

    def add(self, score: float, update: int) -> bool:
        """Notes a validation; True if it is the best so far. A score that is not a number is never kept."""
        if math.isnan(score):
            self.waited += 1
            return False
        first = not self.ranked or self._key(score) > self._key(self.ranked[0][0])
        self.waited = 0 if first else self.waited + 1
        self.ranked = sorted([*self.ranked, (score, update)], key=lambda one: (-self._key(one[0]), one[1]))[: self.keep]
        return first

    def forget(self, update: int) -> None:
        """An update whose checkpoint there is not."""
        self.ranked = [one for one in self.ranked if one[1] != update]

    @property
    def updates(self) -> list[int]:
        """Of the kept ones, the best first."""
        return [update for _, update in self.ranked]

    @property
    def over(self) -> bool:
        """Whether patience has run out."""
        return self.patience is not None and self.waited >= max(1, self.patience)

    def state(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {"ranked": self.ranked, "waited": self.waited}

    def restore(self, state: dict[str, Any]) -> None:
        """The way back."""
        self.ranked, self.waited = [(score, update) for score, update in state["ranked"]], state["waited"]

    def _key(self, score: float) -> float:
        return score if self.higher_is_better else -score


def higher_is_better(name: str) -> bool | None:
    """Of a metric, or of a loss; None where neither is better, as for a ratio."""
    if name in LOSSES:
        return False
    metric: Any = METRICS[name]
    better: bool | None = metric.higher_is_better
    return better
