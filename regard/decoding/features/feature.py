"""The contract of log-linear features of a search (He et al. 2016)."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Self

from torch import Tensor

from regard.data.columns import Columns
from regard.models import Model
from regard.ops.kernels.search import NearestStates
from regard.records import Batch, State, Step


class Surroundings(NamedTuple):
    """The run that a feature works for."""

    columns: Columns
    model: Model
    learnt: Path  # the folder of what `regard tune` has learnt
    open_run: Callable[[Path], tuple[Model, Columns]]  # another run's model and vocabularies
    languages: tuple[str | None, str | None] = (None, None)  # codes of source and target


class Feature(ABC):
    """Adds to the score of each continuation, and once more to a finished hypothesis."""

    name: str  # of its row
    weight: float | None = None  # what its values are multiplied by; None: nothing that could be tuned
    needs_weights = False  # True: reads the writer's alignment
    reads_tables = False  # True: `bind` has to come before anything else

    @property
    def rewards(self) -> bool:
        """Return whether it may add more than 0, so that a search cannot stop early."""
        return self.weight is not None and self.weight < 0

    def weighted(self, weight: float) -> Self:
        """Return the same feature with another weight."""
        other = copy.copy(self)
        other.weight = weight
        return other

    def bind(self, run: Surroundings) -> "Feature":
        """Return the feature with the tables that it reads for a run: itself, if it reads none."""
        return self

    @abstractmethod
    def start(self, batch: Batch) -> State:
        """A state with one row per example."""

    @abstractmethod
    def step(self, step: Step, ids: Tensor, state: Any) -> tuple[Tensor, State]:
        """The writer's step after ids (rows, 1) → what is added to its log_probs (rows, vocab)."""

    def compiled(self, state: Any) -> NearestStates | None:
        """Return what compiled code adds to the scores of all steps from a first state on; None: it takes steps."""
        return None

    def finish(self, state: Any) -> Tensor | float:
        """Return the score that is added when a row ends here: (rows,)."""
        return 0.0
