"""Log loss: how little probability the right label gets."""

from abc import ABC
from collections.abc import Mapping, Sequence

import numpy as np

from regard.errors import RegardError
from regard.evaluation.metric import Corpus, Metric, Statistics


class ProbabilityMetric(Metric, ABC):
    """A figure of the probability of every label. Answers without probabilities, as of a file, have none."""

    answer_kind = "label"

    def probabilities(self, corpus: Corpus) -> Sequence[Mapping[str, float]]:
        """Return the probability of each label, example by example. Raises RegardError where there are none."""
        found = corpus.probabilities or ()
        if len(found) != len(corpus.hypotheses) or not all(found):
            problem = f"{self.name} needs the probability of every label, and these answers are labels alone"
            raise RegardError(f"evaluation: {problem}; give a run, or leave it out of evaluation.metrics")
        return found

    def signature(self, corpus: Corpus) -> str:
        return "labels:of the model"


def right_label(several: Sequence[str]) -> str:
    """Return the label of the reference."""
    return several[0].strip()


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
