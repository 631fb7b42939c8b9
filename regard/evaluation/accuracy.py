"""Accuracy: the share of right labels."""

from regard.evaluation.metric import Corpus, MeanMetric


class Accuracy(MeanMetric):
    """100 · labels that equal the reference / labels."""

    name = "accuracy"
    answer_kind = "label"

    def of_one(self, text: str, reference: str) -> float:
        return float(text.strip() == reference.strip())

    def signature(self, corpus: Corpus) -> str:
        return f"classes:{len({label.strip() for several in corpus.references for label in several})}"
