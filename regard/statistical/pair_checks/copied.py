"""Targets that are copies of their source."""

from collections.abc import Iterator
from difflib import SequenceMatcher

from regard.statistical.pair_checks.check import Finding, PairCheck, PairCorpus, folded, holds_letters

_SEVERITIES = (0.1, 0.2, 0.35, 0.6)  # by words: a name or an exclamation may be its own translation
_LONG, _ALIKE = 5, 0.9  # words from which nearly equal sides count, and how equal


class CopiedSource(PairCheck):
    """A target that is the source, or nearly so in longer sentences. One or two words may be names: shown alone."""

    about = "copied source"

    def findings(self, corpus: PairCorpus) -> Iterator[Finding]:
        for row, ((source, target), (words, others)) in enumerate(zip(corpus.pairs, corpus.words, strict=True)):
            size = sum(map(holds_letters, words))
            if not size:
                continue
            if folded(source) == folded(target):
                yield Finding(row, _SEVERITIES[size] if size < len(_SEVERITIES) else 0.95, "the target is the source")
            elif size >= _LONG and len({*words} & {*others}) >= _ALIKE * size - 1 and _alike(words, others):
                yield Finding(row, 0.8, "the target is nearly the source")


def _alike(words: list[str], others: list[str]) -> bool:
    return SequenceMatcher(None, words, others, autojunk=False).ratio() >= _ALIKE
