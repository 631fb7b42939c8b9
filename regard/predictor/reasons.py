"""One answer explained by several methods, to be set side by side."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from regard.explain.relevance import method_of
from regard.explain.relevance.question import Progress, no_progress
from regard.predictor.predictor import Predictor
from regard.registry import Choice
from regard.results import Explanation, Prediction


def with_reasons(
    predictor: Predictor,
    predictions: Sequence[Prediction],
    methods: Iterable[str | Choice],
    progress: Progress = no_progress,
) -> list[Prediction]:
    """Return explained predictions with the `reasons` of each method in their explanations.

    One without an explanation, as of a text that is too long for it, stays as it is. Raises ConfigError for an unknown
    method, and RegardError where a method cannot explain this model.
    """
    found = list(predictions)
    rows = [row for row, one in enumerate(found) if one.explanation is not None]
    for choice in map(method_of, methods):
        weighed = predictor.pictured([found[row] for row in rows], choice, progress)
        for row, one in zip(rows, weighed, strict=True):
            found[row] = _with(found[row], choice.name, one.explanation)
    return found


def explained_beside(
    predictor: Predictor, predictions: Sequence[Prediction], methods: Sequence[str | Choice] = ()
) -> list[Prediction]:
    """Return the answers that another model gave as this one scores and explains them: what it would rest them on.

    By what it looks at, or the first of the methods; the others are `reasons`. Raises ConfigError where answers cannot
    be scored.
    """
    lines = map(predictor.task.line, predictions)
    scored = predictor.score(lines, [one.text for one in predictions])
    given = [replace(one, source=other.source) for one, other in zip(scored, predictions, strict=True)]
    if not methods:
        return list(predictor.explained(given))
    return with_reasons(predictor, predictor.pictured(given, methods[0]), methods[1:])


def _with(prediction: Prediction, method: str, reason: Explanation | None) -> Prediction:
    found = prediction.explanation
    if found is None or reason is None:
        return prediction
    return replace(prediction, explanation=replace(found, reasons={**found.reasons, method: reason}))
