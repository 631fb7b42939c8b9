"""Batches of a corpus of examples, or of one long text: each a pure function of (data, seed, epoch, index).

Of a corpus an epoch is a random order of all examples, cut into pools. Examples of a pool are sorted by length and
packed into batches, which are shuffled. One pool at a time is planned and encoded by a sampling tokenizer.

The index of a pool's first batch is the number of examples before the pool, so a place is found without planning
earlier pools; a corpus of one pool has the indices 0, 1, 2 …

A long text is a stream of pieces: those of each line, and EOS after them. A window is `window` pieces long. Its first
`context` pieces are read and not counted: another window counts them. So each piece is counted once an epoch, with at
least `context` pieces before it, except at the start of the stream.
"""

import hashlib
import struct
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray

from regard.arrays import Longs
from regard.data.collate import ended
from regard.data.corpus import Corpus
from regard.data.examples import Codec
from regard.data.packing import adjacent, bucketed, packed_rows
from regard.data.ragged import Ragged
from regard.data.streams import (
    BatchPlan,
    EpochStream,
    PlannedStream,
    StreamPlace,
    epoch_and_index,
    no_such_place,
    prefetch,
)
from regard.errors import ConfigError
from regard.records import EOS, PAD, Batch, Sequences

Join = Callable[[NDArray[Any], Longs], Sequences | torch.Tensor]

POOL = 100_000  # examples sorted together


class _Pool(NamedTuple):
    """Examples that are planned together."""

    epoch: int
    start: int  # in the order of the epoch
    lines: Longs


class _Plan(NamedTuple):
    """A pool's batches."""

    pool: _Pool
    batches: list[Longs]  # places in the pool
    sampled: Mapping[str, Ragged]  # ids of the pool's examples, by sampled column


class Batches(PlannedStream):
    """Length-bucketed batches within a budget, in another random order in each epoch.

    The last column is the output: examples are sorted by its length first, and a loss is divided by its tokens.
    """

    def __init__(
        self,
        corpus: Corpus,
        columns: Sequence[str],
        codecs: Mapping[str, Codec] | None = None,
        *,
        joins: Mapping[str, Join] | None = None,
        route: str = "translate",
        tokens: int | None = 4096,
        sentences: int | None = None,
        pool: int = POOL,
        seed: int = 0,
        together: str | None = None,
        read: Sequence[str] = (),
    ) -> None:
        """A batch has at most `tokens` = rows × longest sequence (EOS included) and at most `sentences` rows.

        An example over the budget forms a batch alone. A column with a sampling codec gets new ids in each epoch,
        sampled by (seed, epoch, line); a sample longer than the corpus allows is rejected, since a model may rely on
        that limit. `joins` turn rows of ids into tensors; without one EOS ends a row.
        `together` names a column whose equal values follow one another, as far as the budget allows.
        `read` names the columns whose pieces a batch counts as input.
        """
        if tokens is None and sentences is None:
            raise ConfigError("tokens", "a batch needs a limit", "set tokens or sentences")
        for name, value in (("tokens", tokens), ("sentences", sentences), ("pool", pool)):
            if value is not None and value < 1:
                raise ConfigError(name, f"is {value}", "must be at least 1")
        self.corpus, self.columns, self.route, self.seed = corpus, tuple(columns), route, seed
        self._samplers = {column: codec for column, codec in (codecs or {}).items() if codec.samples}
        self._together, self._read = together, tuple(read)
        self._joins = {column: (joins or {}).get(column, ended) for column in columns}
        self._tokens, self._sentences, self._pool = tokens, sentences, pool
        self._lengths = {column: corpus.lengths(column) for column in columns if column not in self._samplers}

    def plans(self, start: StreamPlace | None = None, *, workers: int = 0) -> Generator[BatchPlan, None, None]:
        first_epoch, index = epoch_and_index(start, self.corpus.folder)
        first = index - index % self._pool
        pools = (
            pool for epoch in count(first_epoch) for pool in self._pools(epoch, first if epoch == first_epoch else 0)
        )
        skipped = index - first
        with closing(prefetch(self._plan, pools, min(workers, 1), 1)) as plans:
            for plan in plans:
                if (plan.pool.epoch != first_epoch and skipped) or skipped > len(plan.batches):
                    raise no_such_place(self.corpus.folder, start or {})
                for number in range(skipped, len(plan.batches)):
                    after = self._after(plan.pool, number, len(plan.batches))
                    yield BatchPlan(after, plan.pool.epoch, partial(self._make, plan, number))
                skipped = 0

    def _pools(self, epoch: int, start: int = 0) -> Iterator[_Pool]:
        """Yield the pools of an epoch from `start` on."""
        order = np.random.default_rng((self.seed, epoch)).permutation(len(self.corpus))
        for first in range(start, len(order), self._pool):
            yield _Pool(epoch, first, order[first : first + self._pool])

    def _plan(self, pool: _Pool) -> _Plan:
        sampled = {column: self._sampled_ids(column, pool) for column in self._samplers}
        lengths = [
            (sampled[column].lengths() if column in sampled else self._lengths[column][pool.lines]) + 1
            for column in self.columns
        ]
        draws = np.random.default_rng((self.seed, pool.epoch, pool.start))
        order, longest = bucketed(lengths, draws), np.maximum.reduce(lengths)
        if self._together is not None:
            order = adjacent(order, [self.corpus.text(self._together, line) for line in pool.lines.tolist()])
        batches = list(packed_rows(longest[order], order, tokens=self._tokens, sentences=self._sentences))
        batches = [batches[number] for number in draws.permutation(len(batches))]
        return _Plan(pool, batches, sampled)

    def _sampled_ids(self, column: str, pool: _Pool) -> Ragged:
        tokenizer, corpus, rows = self._samplers[column], self.corpus, list[Sequence[int]]()
        for line in pool.lines.tolist():
            ids = tokenizer.sample(corpus.text(column, line), _mixed(self.seed, pool.epoch, line, column))
            short = corpus.max_tokens is None or len(ids) <= corpus.max_tokens
            rows.append(ids if short else corpus.ids(column, line).tolist())
        return Ragged.of(rows, np.dtype(np.int32))

    def _make(self, plan: _Plan, number: int) -> Batch:
        pool, batches, sampled = plan
        lines = pool.lines[batches[number]]
        columns = {
            column: self._joins[column](
                *(sampled[column].gather(batches[number]) if column in sampled else self.corpus.gather(column, lines))
            )
            for column in self.columns
        }
        last = columns[self.columns[-1]]
        counted = len(lines) if isinstance(last, torch.Tensor) else int(last.mask.sum())
        read = sum(int(cast(Sequences, columns[name]).mask.sum()) for name in self._read)
        return Batch(columns, self.route, torch.from_numpy(lines), counted, read if self._read else None)

    def _after(self, pool: _Pool, number: int, batches: int) -> StreamPlace:
        """The place after a batch of a pool."""
        following = pool.start + (number + 1 if number + 1 < batches else self._pool)
        if number + 1 < batches or following < len(self.corpus):
            return {"epoch": pool.epoch, "index": following}
        return {"epoch": pool.epoch + 1, "index": 0}


def _mixed(seed: int, epoch: int, line: int, column: str) -> int:
    """63 bits that differ between columns, lines, epochs and seeds, the same on every machine."""
    data = struct.pack("<qqq", seed, epoch, line) + column.encode()
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little") >> 1


class Spans(NamedTuple):
    """Pieces that each window counts: from starts (count,) up to ends (count,), exclusive."""

    starts: Longs
    ends: Longs


class Windows(EpochStream):
    """Batches of about `tokens` pieces of a long text, and one window at least.

    Each epoch samples the end of its first window, so that cuts move between epochs, and the order of the windows.
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
        """`place` is named in errors. Raises ConfigError where `context` leaves no counted pieces in a window."""
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
        """Return all windows of the stream; the first ends before `offset`, unless it is 0."""
        starts = np.arange(offset, len(self), self.step, dtype=np.int64)
        starts = np.concatenate([np.zeros(1, np.int64), starts]) if offset and len(self) else starts
        return Spans(starts, np.append(starts[1:], len(self)))

    def all(self) -> list[Batch]:
        """The stream from its beginning to its end."""
        spans = self.spans()
        return [self._batch(spans, order) for order in self._cut(np.arange(len(spans.starts)))]

    def batches_of(self, epoch: int) -> list[partial[Batch]]:
        draws = np.random.default_rng((self.seed, epoch))
        spans = self.spans(int(draws.integers(self.step)) % max(1, len(self)))
        return [partial(self._batch, spans, one) for one in self._cut(draws.permutation(len(spans.starts)))]

    def _cut(self, order: Longs) -> list[Longs]:
        return [order[first : first + self.rows] for first in range(0, len(order), self.rows)]

    def _batch(self, spans: Spans, numbers: Longs) -> Batch:
        """Return windows as rows; the mask "counted" marks the pieces that the loss counts."""
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
        found[inside] = self._data[places[inside] - lines[inside]]  # lines[inside] ends precede it
        return found
