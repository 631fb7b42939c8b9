"""Brier score: the squared error of probabilities (https://doi.org/10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2)."""

import numpy as np

from regard.evaluation.log_loss import ProbabilityMetric, right_label
from regard.evaluation.metric import Corpus, Statistics


class Brier(ProbabilityMetric):
    """100 · mean Σ (p(label) - 1 if right, else p(label))², over the labels; of two labels half of it.

    So that for two labels it is the squared error of the probability of one, as in scikit-learn. A right label that
    the model does not know counts with p = 0.
    """

    aliases = "brier_score"
    name = "Brier score"
    higher_is_better = False

    def statistics(self, corpus: Corpus) -> Statistics:
        """(example, 2): the error, and 1."""
        found = np.ones((len(corpus.hypotheses), 2))
        pairs = zip(self.probabilities(corpus), corpus.references, strict=True)
        for row, (chances, several) in enumerate(pairs):
            squares = sum(chance**2 for chance in chances.values())
            error = squares + 1 - 2 * chances.get(right_label(several), 0.0)
            found[row, 0] = error / 2 if len(chances) == 2 else error
        return found

    def value(self, sums: Statistics) -> float:
        return float(100 * sums[0] / max(1.0, sums[1]))
