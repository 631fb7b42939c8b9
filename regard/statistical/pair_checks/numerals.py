"""Numbers that differ."""

import re
from collections import Counter
from collections.abc import Iterator

from regard.statistical.pair_checks.check import Finding, PairCheck, PairCorpus

_NUMBER = re.compile(r"\d+(?:[.,:'\u00a0\u202f]\d+)*")
_NOT_DIGIT = re.compile(r"\D")


class DifferentNumbers(PairCheck):
    """Digits that only one side has. A side that spells its numbers in words is shown, not left out."""

    about = "different numbers"

    def findings(self, corpus: PairCorpus) -> Iterator[Finding]:
        for row, pair in enumerate(corpus.pairs):
            one, other = map(_numbers, pair)
            if one == other or "".join(sorted("".join(one))) == "".join(sorted("".join(other))):
                continue
            severity = 0.6 if one.total() == other.total() and not _begins(one, other) else 0.3
            described = " and ".join(", ".join(side) or "none" for side in (one, other))
            yield Finding(row, severity, f"numbers differ: {described}")


def _numbers(text: str) -> Counter[str]:
    """Return the digits of each number: signs between digits differ from language to language."""
    return Counter(_NOT_DIGIT.sub("", found).lstrip("0") for found in _NUMBER.findall(text))


def _begins(one: Counter[str], other: Counter[str]) -> bool:
    """Return whether each number begins as one of the other side does: 2:30 and "2 rưỡi", half past two."""
    lefts, rights = sorted((one - other).elements()), sorted((other - one).elements())
    return all(left.startswith(right) or right.startswith(left) for left, right in zip(lefts, rights, strict=True))
