"""The items of an answer: how likely a model holds each of them, and which are right."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from regard.errors import ConfigError
from regard.results import Prediction


class AnswerItems:
    """What a calibration asks of a task. Items are the pieces of a text, the tags, the label: each is right or not."""

    calibration: ClassVar[str] = "platt"  # row of CALIBRATIONS: an item is right or not, and which more often?

    def choices(self, prediction: Prediction) -> list[list[float]]:
        """Return the probabilities (item, choice) of an answer that a calibration mends.

        By default of two choices: what an item of the answer has, and what all others have together.
        """
        return [[one, 1 - one] for one in prediction.item_probabilities()]

    def recalibrated(self, prediction: Prediction, probabilities: Sequence[Sequence[float]]) -> Prediction:
        """Return a prediction with others (item, choice) in place of its `choices`; the answer stays what it is."""
        return replace(prediction, confidences=[one[0] for one in probabilities])

    def correct_items(self, prediction: Prediction, answer: str) -> list[bool]:
        """Return which items of an answer are right, given the right one. Raises ConfigError where none can be."""
        raise ConfigError("task", "has no items that are right or wrong", "use another run")

    def right_choices(self, prediction: Prediction, answer: str) -> list[int]:
        """Return which of the `choices` of each item is right; nothing where the right answer is not among them."""
        return [0 if correct else 1 for correct in self.correct_items(prediction, answer)]

    def word_items(self, prediction: Prediction) -> list[list[int]]:
        """Return the places of the items that make up each word of an answer."""
        return [[place] for place in range(len(prediction.item_probabilities()))]
