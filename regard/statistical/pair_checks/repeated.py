"""Pairs that stand in the corpus again."""

from collections.abc import Iterator

from regard.statistical.pair_checks.check import Finding, PairCheck, PairCorpus, folded


class RepeatedPair(PairCheck):
    """A pair that an earlier line has, too; case, width and spaces do not count."""

    about = "repeated pair"

    def findings(self, corpus: PairCorpus) -> Iterator[Finding]:
        first = dict[tuple[str, str], int]()
        for row, (source, target) in enumerate(corpus.pairs):
            before = first.setdefault((folded(source), folded(target)), row)
            if before != row:
                yield Finding(row, 0.9, f"the same pair as line {before + 1:,}")
