"""F1: precision and recall of each class as one figure, for classes of different sizes."""

from abc import ABC
from typing import Annotated, Literal

import numpy as np

from regard.config import Doc
from regard.evaluation.class_metric import ClassMetric
from regard.evaluation.metric import Corpus, Statistics
from regard.text.label_sets import read_labels

Average = Annotated[
    Literal["macro", "micro", "weighted"], Doc("Averaging over classes: macro, micro, or weighted by support.")
]


class AverageF1(ClassMetric, ABC):
    """The code that F1 of one label and of several share."""

    def __init__(self, average: str) -> None:
        self.average = average

    def value(self, sums: Statistics) -> float:
        right, given, wanted = sums.reshape(3, -1)
        if self.average == "micro":
            return float(200 * right.sum() / max(1.0, given.sum() + wanted.sum()))
        each = (2 * right / np.maximum(given + wanted, 1.0))[:-1]
        weights = wanted[:-1] if self.average == "weighted" else (given + wanted > 0)[:-1]
        return float(100 * (each * weights).sum() / max(1.0, weights.sum()))

    def signature(self, corpus: Corpus) -> str:
        return f"average:{self.average}|{super().signature(corpus)}"


class F1(AverageF1):
    """100 · mean over the classes of 2 · right / (given + right answer), which is 2PR / (P + R) of the class.

    `macro` counts every class alike, so that a rare one matters as much as a common one; `micro` counts every example
    alike, which is the accuracy; `weighted` is the mean weighted by how often a class is the right answer. The classes
    are those of the references; of resampled examples, those that are given or wanted there.
    """

    name = "f1"

    def __init__(self, *, average: Average = "macro") -> None:
        super().__init__(average)


class LabelsF1(AverageF1):
    """100 · 2 · right / (given + wanted labels), of texts with several labels.

    `micro` sums over all labels first; `macro` is the mean over the labels, `weighted` that weighted by how often a
    label is wanted. The labels are those of the references.
    """

    name = "labels f1"
    answer_kind = "labels"

    def __init__(self, *, average: Average = "micro") -> None:
        super().__init__(average)
        self.name = f"{average} f1"  # type: ignore[misc]  # a table shows several

    def cut(self, text: str) -> list[str]:
        return read_labels(text)
