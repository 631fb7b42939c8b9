"""Exact match of answers, as SQuAD's evaluation has it (https://arxiv.org/abs/1606.05250, section 6.1)."""

from regard.evaluation.metric import Corpus
from regard.evaluation.word_f1 import AnswerMetric, Questions, answer_words


class SquadExactMatch(AnswerMetric):
    """100 · answers whose words are those of one of their references, in order / answers.

    Words are in lower case, without the punctuation of ASCII and without articles, as in `word_f1`.
    """

    name = "squad exact match"

    def __init__(self, *, questions: Questions = "all") -> None:
        super().__init__(questions)

    def signature(self, corpus: Corpus) -> str:
        return f"case:lc|punctuation:non-ascii|articles:none{super().signature(corpus)}"

    def words(self, text: str) -> list[str]:
        """Return them in order."""
        return answer_words(text)

    def of_one(self, text: str, reference: str) -> float:
        return float(self.words(text) == self.words(reference))
