"""Tags, variables, links and addresses."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from random import Random

from regard.documents.placeholders import placeholders
from regard.reports.behaviour.suite import Case, Suite


class TagsSuite(Suite):
    """Sentences with tags, variables of programs, links and addresses. Each is in the answer, as often, unchanged."""

    about = "tags, variables, links and addresses stay"
    writes = False

    def cases(self, draw: Random) -> Iterator[Case]:
        while True:
            for template in self.texts.tags:
                place = draw.randrange(len(self.texts.sentences))
                sentence, word = self.texts.sentences[place][0], self.texts.words[place]
                lower = sentence[:1].lower() + sentence[1:]
                text = template.replace("{sentence}", sentence).replace("{lower}", lower).replace("{key}", word)
                yield Case((text,), partial(_fault, text))


def _fault(text: str, answers: Sequence[str]) -> str:
    needed, found = _marks(text), _marks(answers[0])
    if lost := needed - found:
        return f"lost: {next(iter(lost))}"
    if needed != found:
        return f"too many: {next(iter(found - needed))}"
    closing = next((mark for mark in needed if mark.startswith("</")), "")
    opening = next((mark for mark in needed if closing and mark.startswith(f"<{closing[2:-1]}")), "")
    is_closed_first = opening and answers[0].find(closing) < answers[0].find(opening)
    return f"{closing} stands before {opening}" if is_closed_first else ""


def _marks(text: str) -> Counter[str]:
    """Return the marks that a program reads, links and addresses, without numerals."""
    return Counter(text[one.start : one.end] for one in placeholders(text) if not (one.numeral or one.long))
