"""The share of answers that are near enough: what https://arxiv.org/abs/1512.08756 counts as correct."""

from typing import Annotated

import numpy as np

from regard.config import Doc
from regard.config.bounds import Positive
from regard.evaluation.metric import Corpus, Metric, Statistics
from regard.text.numbers import rows_or_none


class WithinTolerance(Metric):
    """100 · answers of which every number is less than `tolerance` from the reference's / answers.

    What is no rows of numbers, on either side, is wrong.
    """

    name = "within tolerance"
    judges = "numbers"

    def __init__(
        self, *, tolerance: Annotated[Positive, Doc("Distance at which a number counts as wrong.")] = 0.04
    ) -> None:
        self.tolerance = tolerance

    def statistics(self, corpus: Corpus) -> Statistics:
        """[1 or 0, 1] for each example."""
        pairs = zip(corpus.hypotheses, corpus.references, strict=True)
        return np.array([[any(self._near(text, one) for one in several), 1] for text, several in pairs], np.float64)

    def value(self, sums: Statistics) -> float:
        return 100 * float(sums[0]) / max(1.0, float(sums[1]))

    def signature(self, corpus: Corpus) -> str:
        return f"tolerance:{self.tolerance:g}"

    def _near(self, text: str, reference: str) -> bool:
        answer, right = rows_or_none(text), rows_or_none(reference)
        if answer is None or right is None:
            return False
        return answer.shape == right.shape and bool((np.abs(answer - right) < self.tolerance).all())
