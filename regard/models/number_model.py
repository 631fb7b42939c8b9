"""The contract of models that map rows of numbers to rows of numbers."""

from abc import abstractmethod
from typing import NamedTuple, cast

from torch import Tensor

from regard.data.columns import Columns
from regard.data.columns.numbers import NumbersColumn
from regard.errors import PartError
from regard.models.model import Model
from regard.records import Batch, Sequences

GIVEN, WANTED = "given", "wanted"  # columns


class NumberRows(NamedTuple):
    """Rows of numbers for each example, with their log-probabilities."""

    numbers: Sequences  # (batch, n, width)
    scores: Tensor  # (batch,) log-probabilities, in nats; 0 where the model gives none


class HeadTrace(NamedTuple):
    """Weights of a memory's head at each step: the input rows, one step between, the output rows."""

    writes: bool
    weights: Tensor  # (batch, step, slot)


class NumberModel(Model):
    """Numbers (batch, n, width) → numbers. A loss is that of one reference row."""

    @abstractmethod
    def answer(self, batch: Batch) -> NumberRows:
        """Return the answer to the given rows."""

    def traces(self, batch: Batch) -> list[HeadTrace]:
        """Return the weights of the memory's heads while each example is read and answered; [] without a memory."""
        return []

    def counted(self, batch: Batch) -> Tensor:
        return batch.sequences(WANTED).mask


def number_columns(columns: Columns) -> tuple[NumbersColumn, NumbersColumn]:
    """Return the columns of the input and of the reference."""
    return cast(NumbersColumn, columns[GIVEN]), cast(NumbersColumn, columns[WANTED])


def refuse_smoothing(smoothing: float) -> None:
    """Raise PartError for smoothing: a regression has no classes."""
    if smoothing:
        raise PartError(
            f"is {smoothing:g}, but a regression has no classes to spread it over", "use 0", setting="label_smoothing"
        )
