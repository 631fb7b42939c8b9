"""Repetition: a text that repeats itself must not lead to a loop."""

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random

from regard.reports.behaviour.evidence import bare_words, garbled, lost_key
from regard.reports.behaviour.suite import Case, Suite

_TIMES = (2, 3)
_WORDS = 2  # copies of a word; with more a right answer in Chinese might look like a loop of characters
_LONGER = 2  # times as long as the answer to each part alone, together


class RepetitionSuite(Suite):
    """A sentence two or three times, or its noun twice before it. The answer has no loop, and keeps its noun."""

    about = "a repeated text starts no loop"

    def cases(self, draw: Random) -> Iterator[Case]:
        joint = "" if self.pair.source == "zh" else " "
        rows = [*zip(self.keyed, self.texts.words, strict=True)]
        while True:
            (plain, key), word = draw.choice(rows)
            times = draw.choice(_TIMES)
            yield Case((joint.join([plain] * times), plain), partial(_fault, key, times))
            named = ", ".join([word] * _WORDS)
            yield Case((f"{named}: {plain}", plain), partial(_fault, key, 2))


def _fault(key: str, times: int, answers: Sequence[str]) -> str:
    repeated, plain = answers
    if found := garbled(repeated):
        return found
    if len(bare_words(repeated)) > _LONGER * times * len(bare_words(plain)) + 2 * _WORDS:
        return "far longer than the text"
    return lost_key(key, plain, repeated)
