"""Negation: "is not" must not become "is"."""

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random

from regard.reports.behaviour.evidence import is_negated, same_words
from regard.reports.behaviour.suite import Case, Suite, behaviour_texts


class NegationSuite(Suite):
    """Sentences and their negations. The negated answer differs, and has a word that negates or an opposite.

    Words are those of the target language; "closed" is an opposite of "open" in its own sentence alone.
    """

    about = "a negated sentence is not translated as its opposite"

    def cases(self, draw: Random) -> Iterator[Case]:
        rows = [*zip(self.texts.sentences, behaviour_texts(self.pair.target).opposites, strict=True)]
        for (plain, negated), opposites in draw.sample(rows, len(rows)):
            yield Case((negated, plain), partial(_fault, self.pair.target, opposites))


def _fault(target: str, opposites: str, answers: Sequence[str]) -> str:
    negated, plain = answers
    if same_words(negated, plain):
        return "translated as the sentence without negation"
    return "" if is_negated(negated, target, opposites) else "negation lost"
