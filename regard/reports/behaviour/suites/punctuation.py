"""Punctuation: other marks at the end, quotation marks, and question marks."""

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random

from regard.reports.behaviour.evidence import garbled, lost_key
from regard.reports.behaviour.suite import Case, Suite

_FORMS = ("{bare}", "{bare}!!!", "{bare} ...", '"{text}"', "({text})", "  {text}  ", "- {text}", "{bare};")


class PunctuationSuite(Suite):
    """Sentences with other punctuation, and questions.

    The answer keeps the noun of the answer to the plain sentence. A question keeps its question mark.
    """

    about = "punctuation changes no words; questions stay questions"

    def cases(self, draw: Random) -> Iterator[Case]:
        questions = draw.sample(self.texts.questions, len(self.texts.questions))
        while True:
            if questions:
                yield Case((questions.pop(),), _question_fault)
            plain, key = draw.choice(self.keyed)
            changed = draw.choice(_FORMS).format(text=plain, bare=plain.rstrip(".。"))
            yield Case((changed, plain), partial(_fault, key))


def _question_fault(answers: Sequence[str]) -> str:
    (answer,) = answers
    return garbled(answer) or ("" if {"?", "？"} & {*answer} else "question mark lost")


def _fault(key: str, answers: Sequence[str]) -> str:
    changed, plain = answers
    return garbled(changed) or lost_key(key, plain, changed)
