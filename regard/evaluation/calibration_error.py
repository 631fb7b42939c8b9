"""Calibration: how far the probability of an answer is from how often it is right (https://arxiv.org/abs/1706.04599)."""

from typing import Annotated

import numpy as np

from regard.config import Doc
from regard.config.bounds import Size
from regard.evaluation.metric import Corpus, Metric, Statistics


class CalibrationError(Metric):
    """100 · sum over bins of |probability that was given - share that is right| · examples of the bin / examples.

    Bins are of equal width (expected calibration error, equation 3). An answer without a probability, as of a file,
    counts as certain.
    """

    name = "calibration error"
    higher_is_better = False
    answer_kind = "label"

    def __init__(self, *, bins: Annotated[Size, Doc("Number of bins of equal width from 0 to 1.")] = 15) -> None:
        self.bins = bins

    def statistics(self, corpus: Corpus) -> Statistics:
        """(example, 1 + bins): 1, and in the bin of its answer what was given less whether it is right."""
        scores = corpus.scores or (0.0,) * len(corpus.hypotheses)
        pairs = zip(corpus.hypotheses, corpus.references, strict=True)
        correct = [label.strip() in map(str.strip, right) for label, right in pairs]
        return self.of(np.exp(np.minimum(scores, 0.0)), np.array(correct, dtype=np.float64))

    def of(self, given: Statistics, correct: Statistics) -> Statistics:
        """given, correct (example,): a probability, and what came true of it → (example, 1 + bins)."""
        found = np.zeros((len(given), 1 + self.bins))
        found[:, 0] = 1
        places = np.minimum((given * self.bins).astype(int), self.bins - 1)
        found[np.arange(len(given)), 1 + places] = given - correct
        return found

    def value(self, sums: Statistics) -> float:
        return float(100 * np.abs(sums[1:]).sum() / max(1.0, sums[0]))

    def signature(self, corpus: Corpus) -> str:
        return f"bins:{self.bins}"
