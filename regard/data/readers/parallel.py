"""Parallel text files: lines with one number belong together.

Where line counts are unequal, an error names the line from which all pairs are shifted, if there is one. Lines that
belong together have lengths in a steady ratio. With d lines more in one file, some shift s, which grows from 0 to d on
the way, pairs line i of the shorter file with line i + s of the longer one. The likeliest places where it grows
have the smallest sum of costs |log ratio - usual log ratio|, found by dynamic programming:
best_s(i) = C_s(i) + min over k <= i of (best_{s-1}(k) - C_s(k)), with C_s the running sum of the costs at shift s.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice, zip_longest
from pathlib import Path
from typing import Annotated

import numpy as np

from regard.arrays import Floats
from regard.config import Doc
from regard.data.examples import Example
from regard.data.readers.lines import read_lines
from regard.data.readers.reader import Reader
from regard.errors import DataError, PartError

_INSPECTED = 1_000_000  # lines: enough to find a place, few enough for memory
_MOST = 0.6  # of the lines behind a break: they match better shifted
_STEPS = 8  # shifts tried one by one; the last one is always the whole difference
WORST = 2.0  # a cost that is reached at a ratio 7 times the usual one
MARGIN = 2 * WORST  # costs that a shift must save; chance saves as much near the end of a file that simply ends


FileOfColumn = Annotated[Mapping[str, str], Doc("Text file of each column.")]


class ParallelReader(Reader):
    """One text file per column, plain or .gz: `files: {source: train.en, target: train.de}`."""

    def __init__(self, columns: tuple[str, ...], *, files: FileOfColumn) -> None:
        if set(files) != set(columns):
            raise PartError(
                f"names {_listed(files)}", f"expected a file for each of {_listed(columns)}", setting="files"
            )
        self.columns = tuple(columns)
        self.files = tuple(Path(files[column]).expanduser() for column in columns)

    def key(self) -> str:
        return f"parallel {self.columns}"

    def __iter__(self) -> Iterator[Example]:
        streams = [read_lines(path) for path in self.files]
        try:
            for number, texts in enumerate(zip_longest(*streams), start=1):
                if None in texts:
                    raise self._unequal()
                yield Example(number, dict(zip(self.columns, texts, strict=True)))
        finally:
            for stream in streams:
                stream.close()

    def _unequal(self) -> DataError:
        """Return the error with both counts and the line from which pairs are shifted."""
        counts = {path: sum(1 for _ in read_lines(path)) for path in self.files}
        longer, shorter = max(counts, key=counts.__getitem__), min(counts, key=counts.__getitem__)
        problem = f"{counts[longer]:,} lines, but {shorter} has {counts[shorter]:,}; "
        with closing(read_lines(longer)) as more, closing(read_lines(shorter)) as fewer:
            return DataError(longer, problem + first_suspicious(more, fewer, counts[longer] - counts[shorter]))


def _listed(names: Mapping[str, str] | tuple[str, ...]) -> str:
    return ", ".join(names) or "nothing"


def first_suspicious(longer: Iterator[str], shorter: Iterator[str], more: int) -> str:
    """Describe the first line from which the files match better without a line of the longer one.

    A line is named only where most of all that follow match better shifted: a few odd pairs may look like a break, too.
    """
    longs, shorts = _log_lengths(islice(longer, _INSPECTED)), _log_lengths(islice(shorter, _INSPECTED))
    shifts = sorted({*range(min(more, _STEPS) + 1), more})
    usual = float(np.median(longs[: len(shorts)] - shorts[: len(longs)])) if len(longs) else 0.0
    sums = [running_costs(longs[shift:], shorts, usual) for shift in shifts]
    places = growths(sums)
    if places and _better_throughout(sums, places):
        return f"every pair from line {places[0] + 1:,} on seems shifted: a line is missing or added there"
    if len(shorts) == _INSPECTED:
        return f"the first {_INSPECTED:,} lines fit each other"
    if places:
        return "no missing line found: is the shorter file truncated?"
    return f"lines 1-{len(shorts):,} fit each other: is the shorter file truncated?"


def _better_throughout(sums: Sequence[Floats], places: Sequence[int]) -> bool:
    """Return whether most lines of both halves behind the first place match better with the shifts from `places` on."""
    costs = np.diff(np.stack(sums), axis=1)
    lines = np.arange(places[0], costs.shape[1])
    shifted = costs[np.searchsorted(places, lines, side="right"), lines]
    better, worse = shifted < costs[0, lines], shifted > costs[0, lines]
    middle = (len(lines) + 1) // 2
    return all(
        better[half].sum() > _MOST * (better | worse)[half].sum() for half in (slice(middle), slice(-middle, None))
    )


def growths(sums: Sequence[Floats], margin: float = MARGIN) -> list[int]:
    """Return the index of the line of the shorter file from which each shift counts, by running costs of all shifts.

    Where shifts save less than `margin` there is none: the file is truncated.
    """
    best, grown_at = sums[0], []
    for running in sums[1:]:
        lead = best - running
        lowest = np.minimum.accumulate(lead)
        grown_at.append(np.maximum.accumulate(np.where(lead == lowest, np.arange(len(lead)), 0)))
        best = running + lowest
    if sums[0][-1] - best[-1] < margin:
        return []
    found = [len(sums[0]) - 1]
    for last in reversed(grown_at):
        found.append(int(last[found[-1]]))
    return found[:0:-1]


def running_costs(longer: Floats, shorter: Floats, usual: float) -> Floats:
    """Return C(i): the cost of pairing the first i lines; a line without a partner costs most."""
    costs = np.full(len(shorter), WORST)
    length = min(len(longer), len(shorter))
    costs[:length] = np.minimum(np.abs(longer[:length] - shorter[:length] - usual), WORST)
    return np.concatenate([[0.0], np.cumsum(costs)])


def _log_lengths(lines: Iterator[str]) -> Floats:
    return np.log1p(np.array(array("q", map(len, lines)), dtype=np.float64))
