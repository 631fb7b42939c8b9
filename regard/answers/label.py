"""One label of a closed set."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.answers.answer import AnswerThreshold, ReadAnswer
from regard.errors import ConfigError
from regard.evaluation.confusion import Confusion, confusion_of
from regard.results import Prediction
from regard.text.label_sets import positive_label

if TYPE_CHECKING:
    from rich.console import RenderableType

    from regard.data.columns import Column, TextColumn


@dataclass(frozen=True, repr=False)
class LabelPrediction(Prediction):
    """One label of a closed set: `text` is its name."""

    answers = "label"
    probabilities: Mapping[str, float] = field(default_factory=dict, kw_only=True)  # of every label

    def label_probabilities(self) -> Mapping[str, float]:
        """The probability of every label."""
        return self.probabilities

    def item_probabilities(self) -> list[float]:
        return [self.probabilities[self.text]] if self.text in self.probabilities else []

    def details(self) -> dict[str, Any]:
        """The probability of every label."""
        return {**super().details(), "probabilities": dict(self.probabilities)}


class LabelRanking:
    """All labels by falling probability; equal ones stay in the order of the model's vocabulary."""

    def with_alternatives(self, prediction: Prediction, count: int) -> Prediction:
        """Return a prediction with the rest of its `count` best labels, each with its own probability alone."""
        chances = prediction.label_probabilities()
        others = [name for name in sorted(chances, key=lambda name: -chances[name]) if name != prediction.text]
        return replace(prediction, alternatives=[_other(prediction, name) for name in others[: count - 1]])

    def figure(self, prediction: Prediction) -> float:
        """Return the probability of the label."""
        return prediction.label_probabilities()[prediction.text]


class LabelThreshold(AnswerThreshold[LabelPrediction]):
    """Of the positive one of two labels."""

    def check(self, column: "Column", place: str) -> None:
        """Raise ConfigError for more labels than two."""
        if len(column) != 2:
            raise ConfigError(place, f"needs two labels, and the model has {len(column):,}")

    def compared(self, prediction: LabelPrediction) -> list[float]:
        positive = positive_label(prediction.probabilities)
        return [] if positive is None else [prediction.probabilities[positive]]

    def decided(self, prediction: LabelPrediction, threshold: float = AnswerThreshold.usual) -> LabelPrediction:
        """Return the positive one of two labels where its probability is above a threshold, else the other."""
        positive = positive_label(prediction.probabilities)
        if positive is None:
            return prediction
        name = positive if prediction.probabilities[positive] > threshold else min(prediction.probabilities)
        return replace(prediction, text=name, score=_log(prediction.probabilities[name]))


class LabelAnswer(ReadAnswer[LabelPrediction]):
    """A label with the probability of every label. A calibration mends all of them at once."""

    name = form = "label"
    records = (LabelPrediction,)
    items = "labels"
    calibration = "temperature"  # the likeliest label stays the likeliest
    threshold = LabelThreshold()
    ranking = LabelRanking()

    def choices(self, prediction: LabelPrediction) -> list[list[float]]:
        found = prediction.label_probabilities()
        return [[found[name] for name in sorted(found)]] if found else []

    def recalibrated(self, prediction: LabelPrediction, probabilities: Sequence[Sequence[float]]) -> LabelPrediction:
        """Return a prediction with other probabilities of labels; its score is the logarithm of that of the answer."""
        before = prediction.probabilities
        mended = dict(zip(sorted(before), probabilities[0], strict=True))
        again, sure = {name: mended[name] for name in before}, mended[prediction.text]
        return replace(prediction, probabilities=again, confidences=[sure], score=_log(sure))

    def correct_items(self, prediction: LabelPrediction, right: str, column: "TextColumn") -> list[bool]:
        return [prediction.text == right.strip()]

    def right_choices(self, prediction: LabelPrediction, right: str, column: "TextColumn") -> list[int]:
        """Return the place of the right label; nothing for one that training never saw."""
        names = sorted(prediction.label_probabilities())
        return [names.index(right.strip())] if right.strip() in names else []

    def confusion(self, answers: Sequence[str], references: Sequence[str]) -> Confusion | None:
        return confusion_of(answers, references) if answers else None

    def lines(self, prediction: LabelPrediction) -> "Iterator[RenderableType]":
        """Return the label, a bar for each of the likeliest, and the texts, coloured by attention."""
        from regard.answers.drawing import bars, coloured_words, columns_of, heading

        yield heading(prediction)
        if prediction.label_probabilities():
            yield bars(prediction.label_probabilities())
        yield from columns_of(prediction, coloured_words)


def _other(prediction: Prediction, name: str) -> LabelPrediction:
    """Return another label of a prediction."""
    sure = prediction.label_probabilities()[name]
    confidences = None if prediction.confidences is None else [sure]
    return LabelPrediction(prediction.source, name, _log(sure), probabilities={name: sure}, confidences=confidences)


def _log(probability: float) -> float:
    """Return a finite logarithm."""
    return float(np.log(max(probability, np.finfo(float).tiny)))
