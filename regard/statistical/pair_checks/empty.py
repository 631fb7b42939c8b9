"""Sides without a letter or digit."""

from collections.abc import Iterator

from regard.statistical.pair_checks.check import Finding, PairCheck, PairCorpus


class EmptySide(PairCheck):
    """A side that is empty, or has signs alone where the other has words."""

    about = "empty side"

    def findings(self, corpus: PairCorpus) -> Iterator[Finding]:
        for row, pair in enumerate(corpus.pairs):
            blank = [not any(map(str.isalnum, side)) for side in pair]
            if any(not side.strip() for side in pair):
                yield Finding(row, 1.0, "a side is empty")
            elif blank[0] != blank[1]:
                yield Finding(row, 0.8, f"the {'source' if blank[0] else 'target'} has signs alone")
