"""A stretch of the text that was given."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from regard.answers.answer import ReadAnswer
from regard.results import BETWEEN_ANSWERS, Prediction

if TYPE_CHECKING:
    from rich.console import RenderableType

    from regard.data.columns import Column, TextColumn


@dataclass(frozen=True, repr=False)
class SpanPrediction(Prediction):
    """A stretch of the given text."""

    answers = "span"
    start: int = field(default=0, kw_only=True)  # characters of the given text, from 0
    end: int = field(default=0, kw_only=True)  # the first character behind it

    def item_probabilities(self) -> list[float]:
        """That of the stretch, wherever it stands."""
        return [math.exp(self.score)]

    def details(self) -> dict[str, Any]:
        """Where it stands, and the probability of the answer, wherever it stands."""
        return {**super().details(), "start": self.start, "end": self.end, "probability": self.confidence}


class SpanAnswer(ReadAnswer[SpanPrediction]):
    """A stretch of a text, which is one item. An example may have several right ones, on lines of their own."""

    name = form = "span"
    records = (SpanPrediction,)
    items = "answers"

    def metrics(self) -> list[str]:
        """Return the metrics of stretches, and the exact match of texts."""
        return ["exact_match", *super().metrics()]

    def references(self, text: str) -> list[str]:
        return text.split(BETWEEN_ANSWERS)

    def can_show(self, column: "Column") -> bool:
        return column.lossless

    def correct_items(self, prediction: SpanPrediction, right: str, column: "TextColumn") -> list[bool]:
        return [column.encode(prediction.text) in map(column.encode, self.references(right))]

    def lines(self, prediction: SpanPrediction) -> "Iterator[RenderableType]":
        """Return the stretch, and the texts, in which it is coloured."""
        from regard.answers.drawing import ColouredText, columns_of, heading

        def column(text: str, start: int, seen: object) -> "RenderableType":
            first, last = max(prediction.start - start, 0), min(prediction.end - start, len(text))
            return ColouredText(text, [(first, last, 1.0)] if first < last else [])

        yield heading(prediction)
        yield from columns_of(prediction, column)
