"""Shared code of figures of labels that rest on three counts of each class."""

from abc import ABC

import numpy as np

from regard.evaluation.metric import Corpus, Metric, Statistics


class ClassMetric(Metric, ABC):
    """A figure out of how often each class is rightly given, given, and the right answer.

    The classes are those of the references, and one more: all labels that no reference has.
    """

    answer_kind = "label"

    def statistics(self, corpus: Corpus) -> Statistics:
        """(example, 3 · (classes + 1)): whether it is rightly given a class, is given it, and is of it.

        The last class stands for labels that no reference has.
        """
        classes = classes_of(corpus)
        found = np.zeros((len(corpus.hypotheses), 3, len(classes) + 1))
        for row, (given, several) in enumerate(zip(corpus.hypotheses, corpus.references, strict=True)):
            label, right = classes.get(given.strip(), len(classes)), classes[several[0].strip()]
            found[row, [1, 2], [label, right]] = 1
            found[row, 0, label] = label == right
        return found.reshape(len(found), -1)

    def signature(self, corpus: Corpus) -> str:
        return f"classes:{len(classes_of(corpus))}"


def classes_of(corpus: Corpus) -> dict[str, int]:
    """Return the labels of the references, and their places in alphabetical order."""
    labels = sorted({several[0].strip() for several in corpus.references})
    return {label: number for number, label in enumerate(labels)}
