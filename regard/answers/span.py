"""A stretch of the text that was given."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from regard.answers.answer import AnswerThreshold, ReadAnswer
from regard.errors import ConfigError
from regard.results import BETWEEN_ANSWERS, Prediction

if TYPE_CHECKING:
    from rich.console import RenderableType

    from regard.data.columns import Column, TextColumn

_MOST = 700.0  # nats; exp of more is no float
NO_ANSWER = "(no answer)"  # on a terminal


@dataclass(frozen=True, repr=False)
class SpanPrediction(Prediction):
    """A stretch of the given text, or no answer: an empty text, with the likeliest stretch as its `best`."""

    answers = "span"
    start: int = field(default=0, kw_only=True)  # characters of the given text, from 0
    end: int = field(default=0, kw_only=True)  # the first character behind it
    null: float | None = field(default=None, kw_only=True)  # log-probability of no answer; None: there always is one
    best: "SpanPrediction | None" = field(default=None, kw_only=True)

    def span(self) -> "SpanPrediction":
        """Return the likeliest stretch, whether it is the answer or not."""
        return self.best or self

    @property
    def no_answer(self) -> float | None:
        """Probability that there is no answer, against the likeliest stretch alone; None: there always is one."""
        return None if self.null is None else 1 / (1 + math.exp(min(self.span().score - self.null, _MOST)))

    def item_probabilities(self) -> list[float]:
        """That of the stretch, wherever it stands."""
        return [math.exp(self.score)]

    def details(self) -> dict[str, Any]:
        """Where it stands, its probability, wherever it stands, and that of no answer, with the likeliest stretch."""
        found = {**super().details(), "start": self.start, "end": self.end, "probability": self.confidence}
        found |= {} if self.null is None else {"no_answer": self.no_answer}
        if self.best is not None:
            best = self.best
            found["best"] = {"text": best.text, "start": best.start, "end": best.end, "probability": best.confidence}
        return found


class SpanThreshold(AnswerThreshold[SpanPrediction]):
    """Of no answer, where there may be none."""

    def check(self, column: "Column", place: str) -> None:
        """Raise ConfigError for a column that has no piece of no answer."""
        if not column.encode(""):
            raise ConfigError(place, "needs a reader that may give no answer", "train with task.no_answer=true")

    def compared(self, prediction: SpanPrediction) -> list[float]:
        return [] if prediction.no_answer is None else [prediction.no_answer]

    def decided(self, prediction: SpanPrediction, threshold: float = AnswerThreshold.usual) -> SpanPrediction:
        """Return no answer where its probability is above a threshold, else the likeliest stretch."""
        span, chance, null = prediction.span(), prediction.no_answer, prediction.null
        if chance is None or null is None or chance <= threshold or not span.text:
            return span
        return replace(span, text="", score=null, start=0, end=0, best=span)


class SpanAnswer(ReadAnswer[SpanPrediction]):
    """A stretch of a text, which is one item. An example may have several right ones, on lines of their own."""

    name = form = "span"
    records = (SpanPrediction,)
    items = "answers"
    threshold = SpanThreshold()

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
        from regard.answers.drawing import ColouredText, columns_of, heading, probability_line

        def column(text: str, start: int, seen: object) -> "RenderableType":
            first, last = max(prediction.start - start, 0), min(prediction.end - start, len(text))
            return ColouredText(text, [(first, last, 1.0)] if first < last else [])

        yield heading(prediction if prediction.text or prediction.null is None else replace(prediction, text=NO_ANSWER))
        if prediction.no_answer is not None:
            yield probability_line("no answer", prediction.no_answer)
        yield from columns_of(prediction, column)
