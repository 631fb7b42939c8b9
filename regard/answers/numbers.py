"""Rows of numbers."""

from dataclasses import dataclass, field
from typing import Any

from regard.answers.answer import Answer
from regard.results import Prediction


@dataclass(frozen=True, repr=False)
class NumbersPrediction(Prediction):
    """Rows of numbers: `text` is `0.31 1; -0.5 0` for two rows of two."""

    answers = "numbers"
    numbers: list[list[float]] = field(default_factory=list, kw_only=True)

    def details(self) -> dict[str, Any]:
        return {**super().details(), "numbers": [list(row) for row in self.numbers]}


class NumbersAnswer(Answer[NumbersPrediction]):
    """Rows of numbers, as networks compute them."""

    name = form = "numbers"
    records = (NumbersPrediction,)
