"""Wrong bits of a sequence: the measure of the copy task of https://arxiv.org/abs/1410.5401, section 4.1."""

import numpy as np

from regard.evaluation.metric import Corpus, Metric, Statistics
from regard.text.numbers import read_rows


class WrongBits(Metric):
    """Numbers that round to another bit than the reference's / sequences.

    A number that only the answer or only the reference has is a wrong one. Of several references the nearest counts.
    """

    name = "wrong bits"
    higher_is_better = False
    judges = "numbers"

    def statistics(self, corpus: Corpus) -> Statistics:
        """[wrong bits, 1] for each example."""
        pairs = zip(corpus.hypotheses, corpus.references, strict=True)
        return np.array([[min(_wrong(text, one) for one in several), 1] for text, several in pairs], np.float64)

    def value(self, sums: Statistics) -> float:
        """Wrong bits of one sequence."""
        return float(sums[0]) / max(1.0, float(sums[1]))

    def signature(self, corpus: Corpus) -> str:
        """Where a number becomes 1."""
        return "one:above 0.5"


def _wrong(text: str, reference: str) -> int:
    answer, right = (read_rows(one).ravel() > 0.5 for one in (text, reference))
    both = min(len(answer), len(right))
    return int((answer[:both] != right[:both]).sum()) + abs(len(answer) - len(right))
