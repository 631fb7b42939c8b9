"""Batches of a corpus: each a pure function of (corpus, seed, epoch, index).

An epoch is a random order of all examples, cut into pools. Examples of a pool are sorted by length, packed into
batches, and these are shuffled; so what must be planned, or drawn by a sampling tokenizer, at once is one pool.
"""

import hashlib
import struct
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from regard.data.collate import collate, ended
from regard.data.corpus import Corpus
from regard.data.packing import bucketed, chunks, packed
from regard.data.prefetch import prefetch
from regard.data.ragged import Ragged
from regard.errors import ConfigError, DataError
from regard.records import Batch
from regard.text.tokenizer import Tokenizer

__all__ = ["START", "Batches", "Cursor", "Stream", "chunks", "collate"]

Longs = NDArray[np.int64]

POOL = 100_000  # examples sorted together
AHEAD = 4  # batches kept ready per worker


class Cursor(NamedTuple):
    """A place in the endless stream: before batch `index` of `epoch`.

    The first batch of a pool has the number of examples before that pool as its index, so that a place is found
    without planning the pools before it; a corpus of one pool has the indices 0, 1, 2 …
    """

    epoch: int = 0
    index: int = 0  # type: ignore[assignment]  # shadows tuple's


START = Cursor()


class Stream(Protocol):
    """Batches without end."""

    def stream(self, start: Cursor = START, *, workers: int = 0) -> Generator[tuple[Cursor, Batch], None, None]:
        """Each batch with the cursor after it."""
        ...


class _Pool(NamedTuple):
    """Examples that are planned together."""

    epoch: int
    start: int  # in the order of the epoch
    lines: Longs


class _Plan(NamedTuple):
    """A pool's batches."""

    pool: _Pool
    batches: list[Longs]  # places in the pool
    drawn: Mapping[str, Ragged]  # ids of the pool's examples, by sampled column


class Batches:
    """Length-bucketed batches within a budget, in an order that each epoch draws anew.

    The last column is what is written: it is sorted by first, and its tokens are what a loss is divided by.
    """

    def __init__(
        self,
        corpus: Corpus,
        columns: Sequence[str],
        tokenizers: Mapping[str, Tokenizer] | None = None,
        *,
        route: str = "translate",
        tokens: int | None = 4096,
        sentences: int | None = None,
        pool: int = POOL,
        seed: int = 0,
        shuffled: bool = False,
    ) -> None:
        """A batch has at most `tokens` = rows × longest sequence (EOS included) and at most `sentences` rows.

        An example that alone is over the budget forms a batch alone. A column whose tokenizer is given, and samples,
        gets new ids in each epoch, drawn by (seed, epoch, line); a draw that is longer than the corpus allows, which
        a model may rely on, is not taken. `shuffled` draws which rows of a batch come first; else they are by length.
        """
        if tokens is None and sentences is None:
            raise ConfigError("data.tokens", "a batch needs a limit", "set data.tokens or data.sentences")
        for name, value in (("tokens", tokens), ("sentences", sentences), ("pool", pool)):
            if value is not None and value < 1:
                raise ConfigError(f"data.{name}", f"is {value}", "must be at least 1")
        self.corpus, self.columns, self.route, self.seed = corpus, tuple(columns), route, seed
        self._samplers = {column: tokenizer for column, tokenizer in (tokenizers or {}).items() if tokenizer.samples}
        self._tokens, self._sentences, self._pool, self._shuffled = tokens, sentences, pool, shuffled
        self._lengths = {column: corpus.lengths(column) for column in columns if column not in self._samplers}

    def epoch_plan(self, epoch: int) -> list[Longs]:
        """The lines of every batch of an epoch, in order; each line of the corpus occurs once."""
        plans = map(self._plan, self._pools(epoch))
        return [plan.pool.lines[places] for plan in plans for places in plan.batches]

    def batch(self, epoch: int, index: int) -> Batch:
        """One batch, with the index of a cursor; `stream` gives many at less cost, since it plans a pool once."""
        with closing(self.stream(Cursor(epoch, index))) as stream:
            return next(stream)[1]

    def stream(self, start: Cursor = START, *, workers: int = 0) -> Generator[tuple[Cursor, Batch], None, None]:
        """All batches from a cursor on, epoch after epoch, each with the cursor AFTER it: where to go on.

        `workers` threads make batches ahead; neither content nor order depends on them. Closing it ends them.
        Raises DataError where there is no such place, as with other data or settings than the cursor comes from.
        """
        places = self._places(start, workers)
        with closing(places), closing(prefetch(self._make, places, workers, AHEAD * workers)) as batches:
            yield from batches

    def _pools(self, epoch: int, start: int = 0) -> Iterator[_Pool]:
        """The pools of an epoch from one on."""
        order = np.random.default_rng((self.seed, epoch)).permutation(len(self.corpus))
        for first in range(start, len(order), self._pool):
            yield _Pool(epoch, first, order[first : first + self._pool])

    def _places(self, cursor: Cursor, workers: int) -> Generator[tuple[_Plan, int], None, None]:
        """Plans, and which of their batches to make, without end."""
        first = cursor.index - cursor.index % self._pool
        pools = (
            pool for epoch in count(cursor.epoch) for pool in self._pools(epoch, first if epoch == cursor.epoch else 0)
        )
        skipped = cursor.index - first
        with closing(prefetch(self._plan, pools, min(workers, 1), 1)) as plans:
            for plan in plans:
                if (plan.pool.epoch != cursor.epoch and skipped) or skipped > len(plan.batches):
                    raise no_such_place(self.corpus.folder, cursor)
                for number in range(skipped, len(plan.batches)):
                    yield plan, number
                skipped = 0

    def _plan(self, pool: _Pool) -> _Plan:
        drawn = {column: self._drawn(column, pool) for column in self._samplers}
        lengths = [
            (drawn[column].lengths() if column in drawn else self._lengths[column][pool.lines]) + 1
            for column in self.columns
        ]
        draws = np.random.default_rng((self.seed, pool.epoch, pool.start))
        order, longest = bucketed(lengths, draws), np.maximum.reduce(lengths)
        batches = list(packed(longest[order], order, tokens=self._tokens, sentences=self._sentences))
        batches = [batches[number] for number in draws.permutation(len(batches))]
        return _Plan(pool, [draws.permutation(rows) for rows in batches] if self._shuffled else batches, drawn)

    def _drawn(self, column: str, pool: _Pool) -> Ragged:
        tokenizer, corpus, rows = self._samplers[column], self.corpus, list[Sequence[int]]()
        for line in pool.lines.tolist():
            ids = tokenizer.sample(corpus.text(column, line), _mixed(self.seed, pool.epoch, line, column))
            short = corpus.max_tokens is None or len(ids) <= corpus.max_tokens
            rows.append(ids if short else corpus.ids(column, line).tolist())
        return Ragged.of(rows, np.dtype(np.int32))

    def _make(self, place: tuple[_Plan, int]) -> tuple[Cursor, Batch]:
        (pool, batches, drawn), number = place
        lines = pool.lines[batches[number]]
        columns = {
            column: ended(
                *(drawn[column].gather(batches[number]) if column in drawn else self.corpus.gather(column, lines))
            )
            for column in self.columns
        }
        tokens = int(columns[self.columns[-1]].mask.sum())
        return self._after(pool, number, len(batches)), Batch(columns, self.route, torch.from_numpy(lines), tokens)

    def _after(self, pool: _Pool, number: int, batches: int) -> Cursor:
        """Where to go on behind a batch of a pool."""
        if number + 1 < batches:
            return Cursor(pool.epoch, pool.start + number + 1)
        following = pool.start + self._pool
        return Cursor(pool.epoch, following) if following < len(self.corpus) else Cursor(pool.epoch + 1)


def no_such_place(folder: Path, cursor: Cursor) -> DataError:
    """What is told of a cursor that a stream does not come to."""
    problem = f"epoch {cursor.epoch} has no batch {cursor.index:,}, where a run was to go on"
    return DataError(folder, problem, hint="these are not the data or settings of that run")


def _mixed(seed: int, epoch: int, line: int, column: str) -> int:
    """63 bits that differ between columns, lines, epochs and seeds, the same on every machine."""
    data = struct.pack("<qqq", seed, epoch, line) + column.encode()
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little") >> 1
