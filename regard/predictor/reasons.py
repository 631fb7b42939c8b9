"""One answer explained by several methods, to be set side by side."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from regard.explain.relevance import method_of
from regard.predictor.predictor import Predictor
from regard.registry import Choice
from regard.results import Explanation, Prediction


def with_reasons(
    predictor: Predictor, predictions: Sequence[Prediction], methods: Iterable[str | Choice]
) -> list[Prediction]:
    """Return explained predictions with the `reasons` of each method in their explanations.

    One without an explanation, as of a text that is too long for it, stays as it is. Raises ConfigError for an unknown
    method, and RegardError where a method cannot explain this model.
    """
    found = list(predictions)
    rows = [row for row, one in enumerate(found) if one.explanation is not None]
    for choice in map(method_of, methods):
        weighed = predictor.pictured([found[row] for row in rows], choice)
        for row, one in zip(rows, weighed, strict=True):
            found[row] = _with(found[row], choice.name, one.explanation)
    return found


def _with(prediction: Prediction, method: str, reason: Explanation | None) -> Prediction:
    found = prediction.explanation
    if found is None or reason is None:
        return prediction
    return replace(prediction, explanation=replace(found, reasons={**found.reasons, method: reason}))
