"""The contract of adequacy checks: which words of a source its translation leaves out."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import ClassVar, cast

from regard.results import Place, Prediction, TextPrediction

WARNED = 5  # words that a warning names


class Adequacy(ABC):
    """A check of translations. A row of ADEQUACIES, built with the folder of its run."""

    needs_explanation: ClassVar[bool] = False  # True: predictions must have attention weights

    @abstractmethod
    def uncovered(self, prediction: Prediction) -> list[Place]:
        """Return the places of source words that seem untranslated."""


def checked(
    predictions: Sequence[Prediction],
    adequacy: Adequacy | None,
    explained: Callable[[Sequence[Prediction]], Iterable[Prediction]],
) -> list[Prediction]:
    """Return the predictions with the places of their uncovered words; unchanged where `adequacy` is None.

    `explained` adds attention weights to predictions.
    """
    if adequacy is None:
        return [*predictions]
    weighted, found = explained(predictions) if adequacy.needs_explanation else predictions, list[Prediction]()
    for one, other in zip(predictions, weighted, strict=True):
        places, prediction = adequacy.uncovered(other), cast(TextPrediction, one)
        words = [f"'{one.source[start:end]}'" for start, end in places[:WARNED]]
        more = f" and {len(places) - WARNED} others" if places[WARNED:] else ""
        found.append(replace(prediction, uncovered=places))
        if places:
            found[-1] = found[-1].warned(f"may be untranslated: {', '.join(words)}{more}")
    return found
