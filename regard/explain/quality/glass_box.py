"""Glass-box features of https://arxiv.org/abs/2005.10608: TP, Sent-Std, Softmax-Ent, Att-Ent, D-TP, D-Var."""

from regard.explain.quality.feature import QualityFeature, WrittenSentence, entropy


class LogProb(QualityFeature):
    """1/n · sum_i log p(y_i | y_<i, x) of the n pieces."""

    def value(self, sentence: WrittenSentence) -> float:
        return float(sentence.log_probs.mean())


class LogProbSpread(QualityFeature):
    """sqrt(1/n · sum_i (log p_i - mean)²): high for a few uncertain pieces among certain ones."""

    def value(self, sentence: WrittenSentence) -> float:
        return float(sentence.log_probs.std())


class Entropy(QualityFeature):
    """-1/n · sum_i sum_v p(v | y_<i, x) log p(v | y_<i, x) over the vocabulary."""

    def value(self, sentence: WrittenSentence) -> float:
        return float(sentence.entropies.mean())


class AttentionEntropy(QualityFeature):
    """-1/n · sum_i sum_j a_ij log a_ij: the spread of each piece's attention over source pieces. 0 without weights."""

    def value(self, sentence: WrittenSentence) -> float:
        return float(entropy(sentence.weights).mean()) if sentence.weights.size else 0.0


class DropoutMean(QualityFeature):
    """1/k · sum of the mean log-probabilities of k passes, each with other units left out. 0 without passes."""

    needs_passes = True

    def value(self, sentence: WrittenSentence) -> float:
        return float(sentence.passes.mean()) if sentence.passes.size else 0.0


class DropoutVariance(QualityFeature):
    """1/k · sum (score of a pass - mean)² of k passes, each with other units left out. 0 without passes."""

    needs_passes = True

    def value(self, sentence: WrittenSentence) -> float:
        return float(sentence.passes.var()) if sentence.passes.size else 0.0
