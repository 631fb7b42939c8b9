"""F1: precision and recall of each class as one figure, for classes of different sizes."""

from abc import ABC
from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np

from regard.config import Doc
from regard.evaluation.metric import Corpus, Metric, Statistics
from regard.text.label_sets import read_labels


class ClassMetric(Metric, ABC):
    """A figure out of how often each class is rightly given, given, and the right answer.

    The classes are those of the references, and one more: all labels that no reference has, each given one counting.
    """

    answer_kind = "label"

    def statistics(self, corpus: Corpus) -> Statistics:
        """(example, 3 · (classes + 1)): whether it is rightly given a class, is given it, and is of it.

        The last class stands for labels that no reference has: how many of them the example is given.
        """
        classes = classes_of(corpus, self.cut)
        found = np.zeros((len(corpus.hypotheses), 3, len(classes) + 1))
        for row, (given, several) in enumerate(zip(corpus.hypotheses, corpus.references, strict=True)):
            answered = {*self.cut(given)}
            labels = {classes[label] for label in answered if label in classes}
            right = {classes[label] for label in self.cut(several[0])}
            for place, some in enumerate((labels & right, labels, right)):
                found[row, place, [*some]] = 1
            found[row, 1, -1] = len(answered) - len(labels)
        return found.reshape(len(found), -1)

    def cut(self, text: str) -> list[str]:
        """Return the labels of an answer."""
        return [text.strip()]

    def signature(self, corpus: Corpus) -> str:
        return f"classes:{len(classes_of(corpus, self.cut))}"


def classes_of(corpus: Corpus, cut: Callable[[str], list[str]] = lambda text: [text.strip()]) -> dict[str, int]:
    """Return the labels of the references, and their places in alphabetical order."""
    labels = sorted({label for several in corpus.references for label in cut(several[0])})
    return {label: number for number, label in enumerate(labels)}


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
