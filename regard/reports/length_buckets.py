"""Put examples of about one length into buckets, for the tables by length."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

EDGES = (5, 10, 15, 20, 30)  # words of a given text, where one row of the table by length ends


def length_buckets(lengths: Sequence[int], min_size: int = 1) -> list[tuple[str, list[int]]]:
    """Return examples by length: name and rows of each bucket. One below `min_size` is joined to a neighbour."""
    ends = [0, *EDGES, max([*lengths, EDGES[-1] + 1])]
    stretches = [_Stretch(low, high, []) for low, high in zip((0, *(end + 1 for end in ends[:-1])), ends, strict=True)]
    for row, length in enumerate(lengths):
        stretches[bisect_left(ends, length)].rows.append(row)
    return [(one.name, one.rows) for one in _joined([one for one in stretches if one.rows], min_size)]


class _Stretch(NamedTuple):
    """Sentences of `low` to `high` words."""

    low: int
    high: int
    rows: list[int]

    @property
    def name(self) -> str:
        return f"{self.low}-{self.high}" if self.high > self.low else f"{self.low}"


def _joined(stretches: list[_Stretch], min_size: int) -> list[_Stretch]:
    """Join the smallest bucket to its smaller neighbour, until none is too small."""
    while len(stretches) > 1 and min(len(one.rows) for one in stretches) < min_size:
        sizes = [len(one.rows) for one in stretches]
        place = sizes.index(min(sizes))
        beside = [other for other in (place - 1, place + 1) if 0 <= other < len(sizes)]
        first, last = sorted((place, min(beside, key=sizes.__getitem__)))
        both = _Stretch(stretches[first].low, stretches[last].high, stretches[first].rows + stretches[last].rows)
        stretches = [*stretches[:first], both, *stretches[last + 1 :]]
    return stretches
