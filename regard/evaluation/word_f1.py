"""F1 of the words of answers, as SQuAD's evaluation has it (https://arxiv.org/abs/1606.05250, section 6.1)."""

import re
import string
import unicodedata
from collections import Counter
from typing import Annotated

from regard.config import Doc
from regard.evaluation.metric import Corpus, MeanMetric

ARTICLES = re.compile(r"\b(a|an|the)\b")


class WordF1(MeanMetric):
    """100 · mean over answers of 2 · common words / (words of the answer + words of the reference).

    Words are counted as a bag, in lower case and without punctuation: that of Unicode, and all signs of ASCII, as $ and
    +. Of several references the nearest counts. With `articles` a, an and the count, too. Two answers without words are
    equal.
    """

    name = "word f1"
    answer_kind = "span"

    def __init__(self, *, articles: Annotated[bool, Doc("Count articles; SQuAD's F1 ignores them.")] = False) -> None:
        self.articles = articles

    def signature(self, corpus: Corpus) -> str:
        return f"case:lc|punctuation:none|articles:{'counted' if self.articles else 'none'}"

    def of_one(self, text: str, reference: str) -> float:
        given, wanted = self._words(text), self._words(reference)
        if not given or not wanted:
            return float(given == wanted)
        return 2 * (given & wanted).total() / (given.total() + wanted.total())

    def _words(self, text: str) -> Counter[str]:
        lower = unicodedata.normalize("NFC", text).lower()
        signs = {one for one in lower if one in string.punctuation or unicodedata.category(one).startswith("P")}
        plain = "".join(one for one in lower if one not in signs)
        return Counter((plain if self.articles else ARTICLES.sub(" ", plain)).split())
