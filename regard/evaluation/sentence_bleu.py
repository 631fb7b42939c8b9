"""BLEU of each sentence by itself, smoothed so that none is zero for want of one long match."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from regard.config import Doc
from regard.config.bounds import Size
from regard.config.common_settings import Lowercase
from regard.evaluation.metric import Corpus, MeanMetric
from regard.evaluation.tokenization import words


class SentenceBleu(MeanMetric):
    """100 · mean over sentences of BLEU, 1 added to the matches and the totals of the n-grams of two words and more.

    https://aclanthology.org/P04-1077 (Lin and Och 2004, section 4). Of several references the best one counts. Words
    are cut at spaces and signs, in scripts without spaces at each character.
    """

    name = "sentence BLEU"

    def __init__(self, *, order: Annotated[Size, Doc("Maximum order.")] = 4, lowercase: Lowercase = False) -> None:
        self.order, self.lowercase = order, lowercase

    def signature(self, corpus: Corpus) -> str:
        case = "lc" if self.lowercase else "mixed"
        return f"case:{case}|order:{self.order}|smooth:add-one|tok:words"

    def of_one(self, text: str, reference: str) -> float:
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
