"""The spread of log-probabilities: Sent-Std of https://arxiv.org/abs/2005.10608, of logarithms."""

from regard.explain.quality.feature import QualityFeature, WrittenSentence


class LogProbSpread(QualityFeature):
    """sqrt(1/n · sum_i (log p_i - mean)²): high for a few uncertain pieces among certain ones."""

    def value(self, sentence: WrittenSentence) -> float:
        return float(sentence.log_probs.std())
