"""Figures of texts with several labels: all of them right, and labels that are wrong."""

import numpy as np

from regard.evaluation.metric import Corpus, MeanMetric, Rate, Statistics
from regard.text.label_sets import read_labels


class SubsetAccuracy(MeanMetric):
    """100 · texts with exactly the labels of the reference / texts."""

    aliases = "exact_match_ratio"
    name = "subset accuracy"
    answer_kind = "labels"

    def of_one(self, text: str, reference: str) -> float:
        return float({*read_labels(text)} == {*read_labels(reference)})

    def signature(self, corpus: Corpus) -> str:
        return f"labels:{len(_labels(corpus))}"


class HammingLoss(Rate):
    """100 · labels that a text wrongly has or has not / (texts · labels).

    The divisor counts the labels of the references alone, so that it is the same for every system; an answered label
    that no reference has counts as wrong.
    """

    name = "hamming loss"
    answer_kind = "labels"
    higher_is_better = False

    def statistics(self, corpus: Corpus) -> Statistics:
        """[wrong labels, labels] of each text; of several references the first counts."""
        labels = max(1, len(_labels(corpus)))
        pairs = zip(corpus.hypotheses, corpus.references, strict=True)
        return np.array(
            [[len({*read_labels(text)} ^ {*read_labels(several[0])}), labels] for text, several in pairs], np.float64
        )

    def signature(self, corpus: Corpus) -> str:
        return f"labels:{len(_labels(corpus))}"


def _labels(corpus: Corpus) -> set[str]:
    return {label for several in corpus.references for label in read_labels(several[0])}
