"""The contract of tasks: columns in, predictions out."""

from abc import ABC, abstractmethod
from typing import Any

from regard.records import Batch
from regard.results import Prediction


class Task(ABC):
    """What the examples are, what is predicted of them, and how that is scored."""

    columns: tuple[str, ...]  # of an example: ("source", "target")
    metrics: tuple[str, ...]  # that may steer early stopping, the first by default

    @abstractmethod
    def predict(self, model: Any, batch: Batch) -> list[Prediction]:
        """One prediction per example, in the batch's order."""
