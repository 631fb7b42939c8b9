"""The spread of attention: Att-Ent of https://arxiv.org/abs/2005.10608."""

from regard.explain.quality.feature import QualityFeature, WrittenSentence, entropy


class AttentionEntropy(QualityFeature):
    """-1/n · sum_i sum_j a_ij log a_ij: the spread of each piece's attention over source pieces. 0 without weights."""

    def value(self, sentence: WrittenSentence) -> float:
        return float(entropy(sentence.weights).mean()) if sentence.weights.size else 0.0
