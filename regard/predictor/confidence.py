"""Confidence of answers: calibrated probabilities, and abstention below a threshold."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from regard.results import Prediction
from regard.statistical.calibration import Calibration, Calibrations
from regard.tasks import Task


def calibrated(task: Task, predictions: Sequence[Prediction], calibration: Calibrations | None) -> list[Prediction]:
    """Return the predictions and their alternatives with calibrated probabilities; None leaves them as they are."""
    if calibration is None:
        return [*predictions]
    found = [one for prediction in predictions for one in (prediction, *prediction.alternatives)]
    mended = iter(_whole(_by_items(task, found, calibration.items), calibration.answers))
    pairs = ((next(mended), [next(mended) for _ in one.alternatives]) for one in predictions)
    return [replace(one, alternatives=others) if others else one for one, others in pairs]


def decided(task: Task, predictions: Sequence[Prediction], threshold: float | None) -> list[Prediction]:
    """Return the answers that a threshold gives; None leaves them as they are."""
    row = task.answer.threshold
    return [*predictions] if row is None or threshold is None else [row.decided(one, threshold) for one in predictions]


def with_alternatives(task: Task, predictions: Sequence[Prediction], count: int) -> list[Prediction]:
    """Return predictions with the rest of their `count` best answers, where no search has found them."""
    row = task.answer.ranking
    return [*predictions] if row is None or count == 1 else [row.with_alternatives(one, count) for one in predictions]


def _by_items(task: Task, found: Sequence[Prediction], calibration: Calibration) -> list[Prediction]:
    choices = [task.answer.choices(one) for one in found]
    flat = [row for rows in choices for row in rows]
    rows = iter(calibration.apply(np.array(flat)).tolist() if flat else [])
    return [
        task.answer.recalibrated(one, [next(rows) for _ in some]) if some else one
        for one, some in zip(found, choices, strict=True)
    ]


def _whole(found: Sequence[Prediction], calibration: Calibration | None) -> list[Prediction]:
    """The predictions with their confidence as a whole mended."""
    given = [[sure, 1 - sure] for one in found if (sure := one.confidence) is not None]
    if calibration is None or not given:
        return [*found]
    mended = iter(calibration.apply(np.array(given)).tolist())
    return [one if one.confidence is None else replace(one, calibrated_confidence=next(mended)[0]) for one in found]


def abstained(predictions: Sequence[Prediction], min_confidence: float) -> list[Prediction]:
    """Return the predictions, without the answers whose confidence is below `min_confidence`: these are `withheld`.

    A missing confidence counts as 0. An answer of nothing, as to an empty text, stays, and so does what needs
    no model: stored translations, addresses, numbers and emoji are answered by themselves.
    """
    return [
        _withheld(one) if not _needs_no_model(one) and (one.confidence or 0.0) < min_confidence else one
        for one in predictions
    ]


def _needs_no_model(one: Prediction) -> bool:
    copied = one.confidence is None and one.text.strip() == one.source.strip() and not one.warning
    return copied or one.reused or not one.text.strip()


def _withheld(one: Prediction) -> Prediction:
    sure = one.confidence or 0.0
    return Prediction(
        one.source, "", one.score, finished=one.finished, warning=one.warning, confidences=[sure], withheld=one.text
    )
