"""The contract of log-linear features of a search (He et al. 2016)."""

from abc import ABC, abstractmethod
from typing import Any

from torch import Tensor

from regard.records import Batch, State, Step


class Feature(ABC):
    """Adds to the score of each continuation, and once more to a finished hypothesis."""

    rewards = False  # True: may add more than 0, so a search cannot tell early that nothing better will come
    needs_weights = False  # True: reads the writer's alignment

    @abstractmethod
    def start(self, batch: Batch) -> State:
        """A state with one row per example."""

    @abstractmethod
    def step(self, step: Step, ids: Tensor, state: Any) -> tuple[Tensor, State]:
        """The writer's step after ids (rows, 1) → what is added to its log_probs (rows, vocab)."""

    def finish(self, state: Any) -> Tensor | float:
        """What is added when a row ends here: (rows,)."""
        return 0.0
