"""Plain sentences: without their translation no other suite shows anything."""

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random

from regard.reports.behaviour.evidence import garbled, mentions, same_words
from regard.reports.behaviour.suite import Case, Suite


class PlainSentenceSuite(Suite):
    """Short sentences with a common noun. The answer has the noun in one of its usual translations."""

    about = "a short sentence keeps its noun, translated"

    def cases(self, draw: Random) -> Iterator[Case]:
        for plain, key in draw.sample(self.keyed, len(self.keyed)):
            yield Case((plain,), partial(_fault, plain, key))


def _fault(text: str, key: str, answers: Sequence[str]) -> str:
    (answer,) = answers
    if same_words(answer, text):
        return "copied without translation"
    return garbled(answer) or ("" if mentions(key, answer) else "its noun is not translated")
