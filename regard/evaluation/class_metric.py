"""Shared code of figures of labels that rest on three counts of each class."""

from abc import ABC
from collections.abc import Callable

import numpy as np

from regard.evaluation.metric import Corpus, Metric, Statistics


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
