"""Letters of a script that its side does not use."""

import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import cache

from regard.statistical.pair_checks.check import Finding, PairCheck, PairCorpus

_USUAL = 0.01  # share of all letters from which a script is usual


class ForeignScript(PairCheck):
    """Letters of a script that makes up less than a hundredth of its side: a Cyrillic word in German text."""

    about = "foreign script"

    def findings(self, corpus: PairCorpus) -> Iterator[Finding]:
        usual = [_usual_scripts(pair[side] for pair in corpus.pairs) for side in (0, 1)]
        for row, pair in enumerate(corpus.pairs):
            for side, text in enumerate(pair):
                if text.isascii() and "LATIN" in usual[side]:
                    continue
                strange = [one for one in text if one.isalpha() and script_of(one) not in usual[side]]
                if strange:
                    both = all(one in pair[1 - side] for one in strange)
                    name = ("source", "target")[side]
                    reason = f"the {name} has {script_of(strange[0]).title()} letters: {''.join(strange[:20])}"
                    yield Finding(row, 0.4 if both else 0.8, reason)
                    break


@cache
def script_of(letter: str) -> str:
    """Return the first word of a letter's Unicode name: LATIN, CYRILLIC, CJK …"""
    return unicodedata.name(letter, "UNKNOWN").split()[0]


def _usual_scripts(texts: Iterator[str]) -> set[str]:
    letters = Counter(character for text in texts for character in text if character.isalpha())
    scripts = Counter[str]()
    for letter, count in letters.items():
        scripts[script_of(letter)] += count
    return {name for name, count in scripts.items() if count >= _USUAL * scripts.total()}
