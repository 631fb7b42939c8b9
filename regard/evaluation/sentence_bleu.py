"""BLEU of each sentence by itself, smoothed so that none is zero for want of one long match."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import numpy as np

from regard.config import Doc
from regard.config.bounds import Size
from regard.config.common_settings import Lowercase
from regard.evaluation.metric import Corpus, Metric, Statistics
from regard.evaluation.scripts import words


class SentenceBleu(Metric):
    """100 · mean over sentences of BLEU, 1 added to the matches and the totals of the n-grams of two words and more.

    https://aclanthology.org/P04-1077 (Lin and Och 2004, section 4). Of several references the best one counts. Words
    are cut at spaces and signs, in scripts without spaces at each character.
    """

    name = "sentence BLEU"

    def __init__(self, *, order: Annotated[Size, Doc("Longest n-gram.")] = 4, lowercase: Lowercase = False) -> None:
        self.order, self.lowercase = order, lowercase

    def statistics(self, corpus: Corpus) -> Statistics:
        """(sentence, 2): the figure from 0 to 1, and 1."""
        pairs = zip(corpus.hypotheses, corpus.references, strict=True)
        found = [max(self._of_one(text, reference) for reference in several) for text, several in pairs]
        return np.stack([np.array(found), np.ones(len(found))], axis=1)

    def value(self, sums: Statistics) -> float:
        """Their mean, in per cent."""
        return 100 * float(sums[0]) / max(1.0, float(sums[1]))

    def signature(self, corpus: Corpus) -> str:
        case = "lc" if self.lowercase else "mixed"
        return f"case:{case}|order:{self.order}|smooth:add-one|tok:words"

    def _of_one(self, text: str, reference: str) -> float:
        given, wanted = (words(one.lower() if self.lowercase else one) for one in (text, reference))
        if not given or not wanted:
            return float(given == wanted)
        logs = 0.0
        for order in range(1, self.order + 1):
            own, other = _counts(given, order), _counts(wanted, order)
            more = int(order > 1)
            matches, total = sum((own & other).values()) + more, max(len(given) - order + 1, 0) + more
            if not matches:
                return 0.0
            logs += math.log(matches / total)
        return math.exp(logs / self.order + min(0.0, 1 - len(wanted) / len(given)))


def _counts(pieces: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(pieces[start:] for start in range(order)), strict=False))
