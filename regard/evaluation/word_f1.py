"""F1 of the words of answers, as SQuAD's evaluation has it (https://arxiv.org/abs/1606.05250, section 6.1)."""

import re
import string
import unicodedata
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Annotated, Literal

import numpy as np

from regard.config import Doc
from regard.evaluation.metric import Corpus, MeanMetric, Statistics

Questions = Annotated[
    Literal["all", "answerable", "unanswerable"],
    Doc("Questions that count: all, those with a gold answer (HasAns of SQuAD 2.0), or those without (NoAns)."),
]
ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_ASCII = str.maketrans("", "", string.punctuation)


class AnswerMetric(MeanMetric, ABC):
    """The code that figures of answers share. A question without an answer has one reference without words.

    As in SQuAD 2.0, gold answers without words, such as an article alone, do not count beside others.
    """

    answer_kind = "span"

    def __init__(self, questions: str) -> None:
        self.questions = questions
        if questions != "all":
            self.name = f"{type(self).name} ({questions})"  # type: ignore[misc]  # a table shows both

    @abstractmethod
    def words(self, text: str) -> Collection[str]:
        """Return the words of an answer that are compared."""

    def statistics(self, corpus: Corpus) -> Statistics:
        """[figure, 1] of each question, [0, 0] of those that do not count."""
        golds = [tuple(filter(self.words, several)) or ("",) for several in corpus.references]
        counted = [self.questions in ("all", _kind(several)) for several in corpus.references]
        found = super().statistics(corpus._replace(references=tuple(golds)))
        return found * np.array(counted, np.float64)[:, None]

    def signature(self, corpus: Corpus) -> str:
        return "" if self.questions == "all" else f"|questions:{self.questions}"


def _kind(golds: Sequence[str]) -> str:
    return "answerable" if any(golds) else "unanswerable"


class WordF1(AnswerMetric):
    """100 · mean over answers of 2 · common words / (words of the answer + words of the reference).

    Words are counted as a bag, in lower case, without the punctuation of ASCII, $ and + among it, and without articles.
    Of several references the nearest counts. Two answers without words are equal, as in SQuAD 2.0; in 1.1 they are not.
    """

    name = "word f1"

    def __init__(
        self,
        *,
        articles: Annotated[bool, Doc("Count articles; SQuAD's F1 ignores them.")] = False,
        punctuation: Annotated[
            Literal["ascii", "unicode"], Doc("Punctuation to remove: ascii as SQuAD does, or all, after NFC.")
        ] = "ascii",
        questions: Questions = "all",
    ) -> None:
        super().__init__(questions)
        self.articles, self.punctuation = articles, punctuation

    def signature(self, corpus: Corpus) -> str:
        marks = "non-ascii" if self.punctuation == "ascii" else "none"
        articles = "counted" if self.articles else "none"
        return f"case:lc|punctuation:{marks}|articles:{articles}{super().signature(corpus)}"

    def of_one(self, text: str, reference: str) -> float:
        given, wanted = self.words(text), self.words(reference)
        if not given or not wanted:
            return float(given == wanted)
        return 2 * (given & wanted).total() / (given.total() + wanted.total())

    def words(self, text: str) -> Counter[str]:
        """Return a bag."""
        if self.punctuation == "unicode":
            composed = unicodedata.normalize("NFC", text)
            text = "".join(one for one in composed if not unicodedata.category(one).startswith("P"))
        return Counter(answer_words(text, articles=self.articles))


def answer_words(text: str, *, articles: bool = False) -> list[str]:
    """Return the words of an answer in lower case, without punctuation of ASCII; also articles where asked for."""
    plain = text.lower().translate(_WITHOUT_ASCII)
    return (plain if articles else ARTICLES.sub(" ", plain)).split()
