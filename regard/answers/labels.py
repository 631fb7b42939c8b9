"""Several labels of a closed set, or none."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from regard.answers.answer import AnswerThreshold, ReadAnswer
from regard.results import Prediction
from regard.text.label_sets import read_labels, write_labels

if TYPE_CHECKING:
    from rich.console import RenderableType

    from regard.data.columns import TextColumn

_TINY = 1e-300  # keeps a logarithm finite


@dataclass(frozen=True, repr=False)
class LabelsPrediction(Prediction):
    """Labels of a text, each by itself: `text` has those above the threshold, the likeliest first, or `-`."""

    answers = "label"  # the page draws a bar for each label
    probabilities: Mapping[str, float] = field(default_factory=dict, kw_only=True)  # that the text has a label

    @property
    def labels(self) -> list[str]:
        """The labels that the text has."""
        return read_labels(self.text)

    def label_probabilities(self) -> Mapping[str, float]:
        """The probability of every label; they do not add up to 1."""
        return self.probabilities

    def item_probabilities(self) -> list[float]:
        """Of every label, in alphabetical order, the probability of what is answered: that the text has it, or not."""
        given = {*self.labels}
        return [chance if name in given else 1 - chance for name, chance in sorted(self.probabilities.items())]

    def details(self) -> dict[str, Any]:
        """The labels, and the probability of every label."""
        return {**super().details(), "labels": self.labels, "probabilities": dict(self.probabilities)}


class LabelsThreshold(AnswerThreshold[LabelsPrediction]):
    """Of each label."""

    def compared(self, prediction: LabelsPrediction) -> list[float]:
        return [*prediction.probabilities.values()]

    def decided(self, prediction: LabelsPrediction, threshold: float = AnswerThreshold.usual) -> LabelsPrediction:
        chances = prediction.probabilities
        labels = sorted((name for name in chances if chances[name] > threshold), key=lambda name: -chances[name])
        found = replace(prediction, text=write_labels(labels))
        return replace(found, score=math.fsum(math.log(max(one, _TINY)) for one in found.item_probabilities()))


class LabelsAnswer(ReadAnswer[LabelsPrediction]):
    """Several labels. Each label of the closed set is an item: a text rightly has it, rightly has not, or is wrong."""

    name = form = "labels"
    records = (LabelsPrediction,)
    items = "labels"
    threshold = LabelsThreshold()

    def choices(self, prediction: LabelsPrediction) -> list[list[float]]:
        """Return of every label, in alphabetical order, that the text has it and that it has not, whatever decides."""
        return [[chance, 1 - chance] for _, chance in sorted(prediction.probabilities.items())]

    def right_choices(self, prediction: LabelsPrediction, right: str, column: "TextColumn") -> list[int]:
        wanted = {*read_labels(right)}
        return [0 if name in wanted else 1 for name in sorted(prediction.probabilities)]

    def correct_items(self, prediction: LabelsPrediction, right: str, column: "TextColumn") -> list[bool]:
        given, wanted = {*prediction.labels}, {*read_labels(right)}
        return [(name in given) == (name in wanted) for name in sorted(prediction.probabilities)]

    def recalibrated(self, prediction: LabelsPrediction, probabilities: Sequence[Sequence[float]]) -> LabelsPrediction:
        """Return a prediction with other probabilities of labels; those that are answered stay."""
        mended = dict(zip(sorted(prediction.probabilities), (has for has, _ in probabilities), strict=True))
        chances = {name: mended[name] for name in prediction.probabilities}
        found = replace(prediction, probabilities=chances)
        return replace(found, confidences=found.item_probabilities())

    def lines(self, prediction: LabelsPrediction) -> "Iterator[RenderableType]":
        """Return the labels, a bar for each of the likeliest, and the texts, coloured by attention."""
        from regard.answers.drawing import bars, coloured_words, columns_of, heading

        yield heading(prediction)
        if prediction.probabilities:
            yield bars(prediction.probabilities)
        yield from columns_of(prediction, coloured_words)
