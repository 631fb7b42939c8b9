"""Single words."""

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random

from regard.reports.behaviour.evidence import bare_words, garbled
from regard.reports.behaviour.suite import Case, Suite

_MOST = 4  # words of the translation of one word: "the living room of"
_MOST_HAN = 8  # characters
_SEVERAL = frozenset(",;/|、，；()（）")  # between words to choose from


class OneWordSuite(Suite):
    """Single words. The answer is a word or a phrase; a sentence is made up."""

    about = "one word does not become a sentence"

    def cases(self, draw: Random) -> Iterator[Case]:
        for word in draw.sample(self.texts.words, len(self.texts.words)):
            yield Case((word,), partial(_fault, _MOST_HAN if self.pair.target == "zh" else _MOST))


def _fault(most: int, answers: Sequence[str]) -> str:
    (answer,) = answers
    if found := garbled(answer):
        return found
    words = len(bare_words(answer))
    return f"{words} words for one" if words > most and _SEVERAL.isdisjoint(answer) else ""
