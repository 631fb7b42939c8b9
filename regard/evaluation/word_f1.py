"""F1 of the words of answers, as SQuAD's evaluation has it (https://arxiv.org/abs/1606.05250, section 6.1)."""

import re
import string
import unicodedata
from collections import Counter
from typing import Annotated, Literal

from regard.config import Doc
from regard.evaluation.metric import Corpus, MeanMetric

ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_ASCII = str.maketrans("", "", string.punctuation)


class WordF1(MeanMetric):
    """100 · mean over answers of 2 · common words / (words of the answer + words of the reference).

    Words are counted as a bag, in lower case, without the punctuation of ASCII, $ and + among it, and without articles.
    Of several references the nearest counts. Two answers without words are equal, as in SQuAD 2.0; in 1.1 they are not.
    """

    name = "word f1"
    answer_kind = "span"

    def __init__(
        self,
        *,
        articles: Annotated[bool, Doc("Count articles; SQuAD's F1 ignores them.")] = False,
        punctuation: Annotated[
            Literal["ascii", "unicode"], Doc("Punctuation to remove: ascii as SQuAD does, or all, after NFC.")
        ] = "ascii",
    ) -> None:
        self.articles, self.punctuation = articles, punctuation

    def signature(self, corpus: Corpus) -> str:
        marks = "non-ascii" if self.punctuation == "ascii" else "none"
        return f"case:lc|punctuation:{marks}|articles:{'counted' if self.articles else 'none'}"

    def of_one(self, text: str, reference: str) -> float:
        given, wanted = self._words(text), self._words(reference)
        if not given or not wanted:
            return float(given == wanted)
        return 2 * (given & wanted).total() / (given.total() + wanted.total())

    def _words(self, text: str) -> Counter[str]:
        if self.punctuation == "unicode":
            composed = unicodedata.normalize("NFC", text)
            text = "".join(one for one in composed if not unicodedata.category(one).startswith("P"))
        return Counter(answer_words(text, articles=self.articles))


def answer_words(text: str, *, articles: bool = False) -> list[str]:
    """Return the words of an answer in lower case, without punctuation of ASCII; also articles where asked for."""
    plain = text.lower().translate(_WITHOUT_ASCII)
    return (plain if articles else ARTICLES.sub(" ", plain)).split()
