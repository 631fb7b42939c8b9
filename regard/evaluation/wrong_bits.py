"""Wrong bits of a sequence: the measure of the copy task of https://arxiv.org/abs/1410.5401, section 4.1."""

import numpy as np

from regard.evaluation.metric import Corpus, MeanMetric
from regard.text.numbers import rows_or_none


class WrongBits(MeanMetric):
    """Numbers that round to another bit than the reference's / sequences.

    A number that only the answer or only the reference has is a wrong one; anything but rows of numbers has none. Of
    several references the nearest counts.
    """

    name = "wrong bits"
    higher_is_better = False
    factor = 1.0
    answer_kind = "numbers"

    def of_one(self, text: str, reference: str) -> float:
        numbers = (rows_or_none(one) for one in (text, reference))
        answer, right = (np.zeros(0, np.bool_) if one is None else one.ravel() > 0.5 for one in numbers)
        both = min(len(answer), len(right))
        return float((answer[:both] != right[:both]).sum()) + abs(len(answer) - len(right))

    def signature(self, corpus: Corpus) -> str:
        return "one:above 0.5"
