"""The contract of models that answer rows of numbers with rows of numbers."""

from abc import abstractmethod
from typing import NamedTuple, cast

from torch import Tensor

from regard.data.columns import Columns
from regard.data.columns.numbers import NumbersColumn
from regard.errors import PartError
from regard.models.model import Model
from regard.records import Batch, Sequences

GIVEN, WANTED = "given", "wanted"  # columns


class NumberAnswer(NamedTuple):
    """Rows of numbers for each example, and how likely the model finds them."""

    numbers: Sequences  # (batch, n, width)
    scores: Tensor  # (batch,) log-probabilities, in nats; 0 where the model gives none


class HeadTrace(NamedTuple):
    """Where a head of a memory was at each step: first the rows that are read, one step between, those written."""

    writes: bool
    weights: Tensor  # (batch, step, slot)


class NumberModel(Model):
    """Numbers (batch, n, width) → numbers. A loss counts for a row of what is wanted."""

    @abstractmethod
    def answer(self, batch: Batch) -> NumberAnswer:
        """Return what the model makes of the rows given."""

    def traces(self, batch: Batch) -> list[HeadTrace]:
        """Return where the heads of its memory were, each example being read and answered; [] without a memory."""
        return []

    def counted(self, batch: Batch) -> Tensor:
        return batch.sequences(WANTED).mask


def number_columns(columns: Columns) -> tuple[NumbersColumn, NumbersColumn]:
    """Return what is given and what is wanted."""
    return cast(NumbersColumn, columns[GIVEN]), cast(NumbersColumn, columns[WANTED])


def refuse_smoothing(smoothing: float) -> None:
    """Raise PartError: numbers are no classes to spread a probability over."""
    if smoothing:
        raise PartError(
            f"is {smoothing:g}, and numbers are no classes to spread it over", "use 0", setting="label_smoothing"
        )
