"""Length of a translation divided by that of its source."""

import math

from regard.explain.quality.feature import QualityFeature, WrittenSentence


class LengthLogRatio(QualityFeature):
    """log(n / m) of n pieces written and m read."""

    def value(self, sentence: WrittenSentence) -> float:
        return math.log(max(len(sentence.log_probs), 1) / max(sentence.source, 1))
