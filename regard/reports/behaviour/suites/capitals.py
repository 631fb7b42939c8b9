"""Texts in capitals."""

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random

from regard.reports.behaviour.evidence import garbled, lost_key, same_words
from regard.reports.behaviour.suite import Case, Suite


class CapitalsSuite(Suite):
    """Sentences in capitals. They are translated, with the noun of the answer to the plain sentence."""

    about = "capitals are translated as small letters are"

    def missing(self) -> str:
        return "the source language has no capitals" if self.pair.source == "zh" else super().missing()

    def cases(self, draw: Random) -> Iterator[Case]:
        for plain, key in draw.sample(self.keyed, len(self.keyed)):
            yield Case((plain.upper(), plain), partial(_fault, plain, key))


def _fault(text: str, key: str, answers: Sequence[str]) -> str:
    capitals, plain = answers
    if found := garbled(capitals):
        return found
    if same_words(capitals, text) and not same_words(plain, text):
        return "copied without translation"
    return lost_key(key, plain, capitals)
