"""Rows of different lengths, one after the other in a flat array."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.arrays import Longs


class Ragged:
    """Row i is data[offsets[i] : offsets[i + 1]]. The arrays may be memory-mapped."""

    def __init__(self, data: NDArray[Any], offsets: Longs) -> None:
        self.data, self.offsets = data, offsets

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], dtype: np.dtype[Any]) -> "Ragged":
        """Lists of numbers, put together."""
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        return cls(np.fromiter(chain.from_iterable(rows), dtype, int(offsets[-1])), offsets)

    def lengths(self) -> NDArray[np.int32]:
        """Lengths of all rows."""
        return np.diff(self.offsets).astype(np.int32)

    def row(self, place: int) -> NDArray[Any]:
        """One row."""
        return self.data[self.offsets[place] : self.offsets[place + 1]]

    def gather(self, places: Longs) -> tuple[NDArray[Any], Longs]:
        """Some rows one after the other, and their lengths."""
        starts = self.offsets[places]
        lengths = self.offsets[places + 1] - starts
        before = np.cumsum(lengths) - lengths
        return self.data[np.repeat(starts - before, lengths) + np.arange(lengths.sum())], lengths
