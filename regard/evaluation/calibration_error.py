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
    judges = "label"

    def __init__(self, *, bins: Annotated[Size, Doc("Parts of equal width from 0 to 1.")] = 15) -> None:
        self.bins = bins

    def statistics(self, corpus: Corpus) -> Statistics:
        """(example, 1 + bins): 1, and in the bin of its answer what was given less whether it is right."""
        scores = corpus.scores or (0.0,) * len(corpus.hypotheses)
        found = np.zeros((len(scores), 1 + self.bins))
        found[:, 0] = 1
        triples = zip(corpus.hypotheses, corpus.references, np.exp(np.minimum(scores, 0.0)), strict=True)
        for row, (label, right, given) in enumerate(triples):
            place = min(int(given * self.bins), self.bins - 1)
            found[row, 1 + place] = given - (label.strip() in map(str.strip, right))
        return found

    def value(self, sums: Statistics) -> float:
        """From 0 to 100."""
        return float(100 * np.abs(sums[1:]).sum() / max(1.0, sums[0]))

    def signature(self, corpus: Corpus) -> str:
        """The number of bins."""
        return f"bins:{self.bins}"
