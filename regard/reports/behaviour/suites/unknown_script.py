"""Characters that training may never have seen."""

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random

from regard.reports.behaviour.evidence import garbled, lost_key
from regard.reports.behaviour.suite import Case, Suite

_FOREIGN = ("თბილისი", "ბარათი", "ⵜⴰⵎⵓⵔⵜ", "ᏣᎳᎩ", "አማርኛ", "ភាសា")
_SIGNS = ("🎈", "🙂", "☀", "👍🏽", "🇫🇷", "♫")


class UnknownScriptSuite(Suite):
    """Sentences with a word in a rare script, or an emoji. An emoji stays, and no unknown characters are written.

    A word in another script may be copied, transliterated or translated.
    """

    about = "rare scripts and emoji spoil no answer"

    def cases(self, draw: Random) -> Iterator[Case]:
        while True:
            plain, key = draw.choice(self.keyed)
            sign, foreign = draw.choice(_SIGNS), draw.choice(_FOREIGN)
            yield Case((f"{plain} {sign}", plain), partial(_fault, key, sign))
            yield Case((f"{foreign}: {plain}", plain), partial(_fault, key, ""))


def _fault(key: str, sign: str, answers: Sequence[str]) -> str:
    changed, plain = answers
    if found := garbled(changed):
        return found
    return lost_key(key, plain, changed) if sign in changed else f"lost: {sign}"
