"""Log loss: how little probability the right label gets."""

import numpy as np

from regard.evaluation.metric import Corpus, Statistics
from regard.evaluation.probability_metric import ProbabilityMetric, right_label

_LEAST = float(np.finfo(np.float64).eps)  # as in scikit-learn: a probability of zero costs 36 nats


class LogLoss(ProbabilityMetric):
    """-mean ln p(right label), in nats: cross-entropy. p is clipped to [ε, 1 - ε], ε = 2⁻⁵², so it is finite.

    A label that the model does not know has p = 0.
    """

    name = "log loss"
    higher_is_better = False

    def statistics(self, corpus: Corpus) -> Statistics:
        """(example, 2): nats, and 1."""
        pairs = zip(self.probabilities(corpus), corpus.references, strict=True)
        chances = np.array([chances.get(right_label(several), 0.0) for chances, several in pairs])
        nats = -np.log(np.clip(chances, _LEAST, 1 - _LEAST))
        return np.stack([nats, np.ones_like(nats)], axis=1)

    def value(self, sums: Statistics) -> float:
        return float(sums[0] / max(1.0, sums[1]))

    def signature(self, corpus: Corpus) -> str:
        return "unit:nats|least probability:2^-52"
