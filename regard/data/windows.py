"""One long text as windows, each a pure function of (text, seed, epoch, number).

The text is a stream of pieces: those of every line, and EOS where it ends. A window is `window` pieces long; its first
`context` pieces, which another window counts, are read and not counted. So each piece is counted once an epoch, with
at least as many pieces before it as the context has, where there are so many.
"""

from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from regard.arrays import Longs
from regard.data.ragged import Ragged
from regard.data.streams import EpochStream
from regard.errors import ConfigError
from regard.records import EOS, PAD, Batch, Sequences


class Spans(NamedTuple):
    """What is counted of each window: pieces from starts (count,) to before ends (count,)."""

    starts: Longs
    ends: Longs


class Windows(EpochStream):
    """Batches of about `tokens` pieces, and one window at least.

    Each epoch draws where its first window ends, so that pieces are not always cut at the same places, and an order.
    """

    def __init__(
        self,
        lines: Ragged,
        *,
        column: str,
        route: str,
        window: int,
        context: int = 0,
        tokens: int = 4096,
        seed: int = 0,
        place: Path | None = None,
    ) -> None:
        """`place` is what a fault names. Raises ConfigError where a window has no room for what is counted."""
        if not 0 <= context < window:
            raise ConfigError("context", f"is {context}", f"0 at least and less than the window of {window}")
        self.column, self.route, self.seed, self.place = column, route, seed, place or Path()
        self.context, self.step, self.rows = context, window - context, max(1, tokens // window)
        self._data = lines.data
        self._ends = lines.offsets[1:] + np.arange(len(lines.offsets) - 1)  # where in the stream each line ends

    def __len__(self) -> int:
        """Pieces of the stream."""
        return int(self._ends[-1]) + 1 if len(self._ends) else 0

    def spans(self, offset: int = 0) -> Spans:
        """All windows of the stream, the first of which ends before `offset`, if it is not 0."""
        starts = np.arange(offset, len(self), self.step, dtype=np.int64)
        starts = np.concatenate([np.zeros(1, np.int64), starts]) if offset and len(self) else starts
        return Spans(starts, np.append(starts[1:], len(self)))

    def all(self) -> list[Batch]:
        """The stream from its beginning to its end."""
        spans = self.spans()
        return [self._batch(spans, order) for order in self._cut(np.arange(len(spans.starts)))]

    def batches_of(self, epoch: int) -> list[partial[Batch]]:
        """Draw where windows end, and their order."""
        draws = np.random.default_rng((self.seed, epoch))
        spans = self.spans(int(draws.integers(self.step)) % max(1, len(self)))
        return [partial(self._batch, spans, one) for one in self._cut(draws.permutation(len(spans.starts)))]

    def _cut(self, order: Longs) -> list[Longs]:
        return [order[first : first + self.rows] for first in range(0, len(order), self.rows)]

    def _batch(self, spans: Spans, numbers: Longs) -> Batch:
        """Windows as rows; "counted" tells which pieces the loss counts."""
        starts, ends = spans.starts[numbers, None], spans.ends[numbers, None]
        begins = np.maximum(starts - self.context, 0)
        places = begins + np.arange((ends - begins).max())
        mask, counted = places < ends, (places >= starts) & (places < ends)
        ids = np.full(places.shape, PAD, np.int64)
        ids[mask] = self._pieces(places[mask])
        text = Sequences(torch.from_numpy(ids), torch.from_numpy(mask))
        columns: dict[str, Sequences | torch.Tensor] = {self.column: text, "counted": torch.from_numpy(counted)}
        return Batch(columns, self.route, torch.from_numpy(numbers), int(counted.sum()))

    def _pieces(self, places: Longs) -> Longs:
        """Places in the stream → ids."""
        lines = np.searchsorted(self._ends, places)
        found = np.full(len(places), EOS, np.int64)
        inside = self._ends[lines] != places
        found[inside] = self._data[places[inside] - lines[inside]]  # so many ends stand before it
        return found
