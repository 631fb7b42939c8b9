"""The contract of adequacy checks: which words of a source its translation leaves out."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from regard.results import Place, Prediction

WARNED = 5  # words that a warning names


class Adequacy(ABC):
    """A check of translations. A row of ADEQUACIES, built with the folder of its run."""

    needs_explanation: ClassVar[bool] = False  # whether predictions must say what their pieces looked at

    @abstractmethod
    def uncovered(self, prediction: Prediction) -> list[Place]:
        """Return the places of source words that seem untranslated."""


def checked(
    predictions: Sequence[Prediction],
    adequacy: Adequacy | None,
    explained: Callable[[Sequence[Prediction]], Iterable[Prediction]],
) -> list[Prediction]:
    """Return the predictions with the places of their uncovered words, as far as an `adequacy` looks for them.

    `explained` adds what the pieces of predictions looked at.
    """
    if adequacy is None:
        return [*predictions]
    told = explained(predictions) if adequacy.needs_explanation else predictions
    return [_with_uncovered(one, adequacy.uncovered(other)) for one, other in zip(predictions, told, strict=True)]


def _with_uncovered(prediction: Any, places: list[Place]) -> Prediction:
    """A TextPrediction with the places of its uncovered words, and a warning where there are some."""
    if not places:
        return replace(prediction, uncovered=[])
    words = [f"'{prediction.source[start:end]}'" for start, end in places[:WARNED]]
    more = f" and {len(places) - WARNED} others" if places[WARNED:] else ""
    return replace(prediction, uncovered=places).warned(f"may be untranslated: {', '.join(words)}{more}")
