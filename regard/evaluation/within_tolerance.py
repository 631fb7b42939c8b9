"""The share of answers that are near enough: what https://arxiv.org/abs/1512.08756 counts as correct."""

from typing import Annotated

import numpy as np

from regard.config import Doc
from regard.config.bounds import Positive
from regard.evaluation.metric import Corpus, MeanMetric
from regard.text.numbers import rows_or_none


class WithinTolerance(MeanMetric):
    """100 · answers of which every number is less than `tolerance` from the reference's / answers.

    Anything but rows of numbers, on either side, counts as wrong.
    """

    name = "within tolerance"
    answer_kind = "numbers"

    def __init__(
        self, *, tolerance: Annotated[Positive, Doc("Tolerance: error from which a number is wrong.")] = 0.04
    ) -> None:
        self.tolerance = tolerance

    def signature(self, corpus: Corpus) -> str:
        return f"tolerance:{self.tolerance:g}"

    def of_one(self, text: str, reference: str) -> float:
        answer, right = rows_or_none(text), rows_or_none(reference)
        if answer is None or right is None:
            return 0.0
        return float(answer.shape == right.shape and bool((np.abs(answer - right) < self.tolerance).all()))
