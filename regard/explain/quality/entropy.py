"""The entropy of the choice of pieces: Softmax-Ent of https://arxiv.org/abs/2005.10608."""

from regard.explain.quality.feature import QualityFeature, WrittenSentence


class Entropy(QualityFeature):
    """-1/n · sum_i sum_v p(v | y_<i, x) log p(v | y_<i, x) over the vocabulary."""

    def value(self, sentence: WrittenSentence) -> float:
        return float(sentence.entropies.mean())
