"""Accuracy: the share of right labels."""

import numpy as np

from regard.evaluation.metric import Corpus, Metric, Statistics


class Accuracy(Metric):
    """100 · labels that equal the reference / labels."""

    name = "accuracy"
    judges = "label"

    def statistics(self, corpus: Corpus) -> Statistics:
        """[1 or 0, 1] for each example."""
        pairs = zip(corpus.hypotheses, corpus.references, strict=True)
        return np.array([[label.strip() in map(str.strip, right), 1] for label, right in pairs], np.float64)

    def value(self, sums: Statistics) -> float:
        return 100 * float(sums[0]) / max(1.0, float(sums[1]))

    def signature(self, corpus: Corpus) -> str:
        return f"classes:{len({label.strip() for several in corpus.references for label in several})}"
