"""The variance over passes with dropout: D-Var of https://arxiv.org/abs/2005.10608."""

from regard.explain.quality.feature import QualityFeature, WrittenSentence


class DropoutVariance(QualityFeature):
    """1/k · sum (score of a pass - mean)² of k passes, each with other units left out. 0 without passes."""

    needs_passes = True

    def value(self, sentence: WrittenSentence) -> float:
        return float(sentence.passes.var()) if sentence.passes.size else 0.0
