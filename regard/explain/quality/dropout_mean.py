"""The mean over passes with dropout: D-TP of https://arxiv.org/abs/2005.10608."""

from regard.explain.quality.feature import QualityFeature, WrittenSentence


class DropoutMean(QualityFeature):
    """1/k · sum of the mean log-probabilities of k passes, each with other units left out. 0 without passes."""

    needs_passes = True

    def value(self, sentence: WrittenSentence) -> float:
        return float(sentence.passes.mean()) if sentence.passes.size else 0.0
