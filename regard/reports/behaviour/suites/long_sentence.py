"""Long sentences: the end must not get lost."""

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random

from regard.reports.behaviour.evidence import garbled, mentions
from regard.reports.behaviour.suite import Case, Suite

_PARTS = 8
_MOST_LOST = 0.4  # fraction of the parts; a few may be said in other words


class LongSentenceSuite(Suite):
    """Eight sentences joined to one. The answer has the nouns that the answers to the single sentences have."""

    about = "a long sentence is translated to its end"

    def cases(self, draw: Random) -> Iterator[Case]:
        while True:
            some = draw.sample(self.keyed, _PARTS)
            parts = tuple(plain for plain, _ in some)
            bare = [part.rstrip(".。") for part in parts]
            rest = [part if part.startswith("I ") else f"{part[:1].lower()}{part[1:]}" for part in bare[1:]]
            text = self.texts.joint.join([bare[0], *rest]) + parts[0][-1]
            yield Case((text, *parts), partial(_fault, [key for _, key in some]))


def _fault(keys: Sequence[str], answers: Sequence[str]) -> str:
    whole, *parts = answers
    if found := garbled(whole):
        return found
    known = [key for key, part in zip(keys, parts, strict=True) if mentions(key, part)]
    lost = [key for key in known if not mentions(key, whole)]
    return f"{len(lost)} of {len(known)} parts lost" if len(lost) > max(_MOST_LOST * len(known), 1) else ""
