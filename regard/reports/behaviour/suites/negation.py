"""Negation: "is not" must not become "is"."""

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random

from regard.reports.behaviour.evidence import is_negated, same_words
from regard.reports.behaviour.suite import Case, Suite


class NegationSuite(Suite):
    """Sentences and their negations. The negated answer differs, and has a word of the target language that negates."""

    about = "a negated sentence is not translated as its opposite"

    def cases(self, draw: Random) -> Iterator[Case]:
        for plain, negated in draw.sample(self.texts.sentences, len(self.texts.sentences)):
            yield Case((negated, plain), partial(_fault, self.pair.target))


def _fault(target: str, answers: Sequence[str]) -> str:
    negated, plain = answers
    if same_words(negated, plain):
        return "translated as the sentence without negation"
    return "" if is_negated(negated, target) else "negation lost"
