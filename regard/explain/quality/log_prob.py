"""The mean log-probability: TP of https://arxiv.org/abs/2005.10608."""

from regard.explain.quality.feature import QualityFeature, WrittenSentence


class LogProb(QualityFeature):
    """1/n · sum_i log p(y_i | y_<i, x) of the n pieces."""

    def value(self, sentence: WrittenSentence) -> float:
        return float(sentence.log_probs.mean())
