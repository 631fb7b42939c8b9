"""One number, as a regression predicts it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from regard.answers.answer import ReadAnswer
from regard.results import Prediction

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True, repr=False)
class NumberPrediction(Prediction):
    """A number: `text` has enough digits to distinguish it from its neighbours.

    The score is 0: no probability is predicted.
    """

    answers = "numbers"
    number: float = field(default=0.0, kw_only=True)

    def details(self) -> dict[str, Any]:
        return {**super().details(), "number": self.number}


class NumberAnswer(ReadAnswer[NumberPrediction]):
    """One number, which is near the right one rather than right or wrong."""

    name = form = "number"
    records = (NumberPrediction,)

    def lines(self, prediction: NumberPrediction) -> "Iterator[RenderableType]":
        """Return the number, and the texts, coloured by attention."""
        from regard.answers.drawing import coloured_words, columns_of, heading

        yield heading(prediction)
        yield from columns_of(prediction, coloured_words)
