"""The coverage penalty of https://arxiv.org/abs/1609.08144, equation 14, by source piece."""

import numpy as np

from regard.explain.quality.feature import QualityFeature, WrittenSentence

_LEAST = 1e-3  # sum of weights that a logarithm is taken of


class Coverage(QualityFeature):
    """1/m · sum_j log min(1, sum_i a_ij) over the m source pieces: 0 where all of them are attended to."""

    def value(self, sentence: WrittenSentence) -> float:
        if not sentence.weights.size:
            return 0.0
        return float(np.log(np.clip(sentence.weights.sum(axis=0), _LEAST, 1.0)).mean())
