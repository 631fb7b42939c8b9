"""Exact match of answers, as SQuAD's evaluation has it (https://arxiv.org/abs/1606.05250, section 6.1)."""

from regard.evaluation.metric import Corpus, MeanMetric
from regard.evaluation.word_f1 import answer_words


class SquadExactMatch(MeanMetric):
    """100 · answers whose words are those of one of their references, in order / answers.

    Words are in lower case, without the punctuation of ASCII and without articles, as in `word_f1`.
    """

    name = "squad exact match"
    answer_kind = "span"

    def signature(self, corpus: Corpus) -> str:
        return "case:lc|punctuation:non-ascii|articles:none"

    def of_one(self, text: str, reference: str) -> float:
        return float(answer_words(text) == answer_words(reference))
