"""How sure answers are: probabilities as a run's calibration mends them, and answers that are not sure enough."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from regard.results import Prediction
from regard.statistical.calibration import Calibration
from regard.tasks import Task


def calibrated(task: Task, predictions: Sequence[Prediction], calibration: Calibration | None) -> list[Prediction]:
    """Return the predictions and their alternatives with calibrated probabilities; None leaves them as they are."""
    found = [one for prediction in predictions for one in (prediction, *prediction.alternatives)]
    choices = [] if calibration is None else [task.choices(one) for one in found]
    flat = [row for rows in choices for row in rows]
    if calibration is None or not flat:
        return [*predictions]
    rows = iter(calibration.apply(np.array(flat)).tolist())
    mended = iter(
        task.recalibrated(one, [next(rows) for _ in some]) if some else one
        for one, some in zip(found, choices, strict=True)
    )
    whole = ((next(mended), [next(mended) for _ in one.alternatives]) for one in predictions)
    return [replace(one, alternatives=others) if others else one for one, others in whole]


def abstained(predictions: Sequence[Prediction], least: float) -> list[Prediction]:
    """Return the predictions, without the answers whose confidence is below `least`: these are `withheld`.

    Where nothing tells a confidence it is 0. An answer of nothing, as to an empty text, stays.
    """
    return [_withheld(one) if one.text.strip() and (one.confidence or 0.0) < least else one for one in predictions]


def _withheld(one: Prediction) -> Prediction:
    sure = one.confidence or 0.0
    return Prediction(
        one.source, "", one.score, finished=one.finished, warning=one.warning, confidences=[sure], withheld=one.text
    )
