"""Texts in the wrong language: one that is in the target language already."""

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random

from regard.reports.behaviour.evidence import garbled, similarity
from regard.reports.behaviour.suite import Case, Suite
from regard.reports.behaviour.texts import behaviour_texts

_LEAST = 0.5  # similarity of a text in the target language and its answer


class WrongLanguageSuite(Suite):
    """Sentences in the target language. They stay much as they are; an answer that shares little is made up."""

    about = "a text in the target language stays as it is"
    reads = False

    def cases(self, draw: Random) -> Iterator[Case]:
        sentences = behaviour_texts(self.pair.target).sentences
        for text, _ in draw.sample(sentences, len(sentences)):
            yield Case((text,), partial(_fault, text))


def _fault(text: str, answers: Sequence[str]) -> str:
    (answer,) = answers
    if found := garbled(answer):
        return found
    share = similarity(text, answer)
    return f"only {share:.0%} of a text in the target language is left" if share < _LEAST else ""
