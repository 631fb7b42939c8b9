"""Batches of a corpus: each a pure function of (corpus, seed, epoch, index)."""

import hashlib
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from regard.data.collate import collate, padded
from regard.data.corpus import Corpus
from regard.data.packing import bucketed, packed
from regard.data.prefetch import prefetch
from regard.errors import ConfigError, DataError
from regard.records import Batch, Sequences
from regard.text.tokenizer import Tokenizer

Longs = NDArray[np.int64]
Plan = list[Longs]  # the lines of each batch of an epoch

POOL = 100_000  # examples sorted together


class Cursor(NamedTuple):
    """A place in the endless stream: before batch `index` of `epoch`."""

    epoch: int = 0
    index: int = 0


START = Cursor()


class _Place(NamedTuple):
    epoch: int
    lines: Longs
    after: Cursor


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
    ) -> None:
        """A batch has at most `tokens` = rows × longest sequence (EOS included) and at most `sentences` rows.

        An example that alone is over the budget forms a batch alone. A column whose tokenizer is given, and samples,
        gets new ids each epoch, drawn by (seed, epoch, line); the budget counts the ids of the corpus, so a draw may
        be longer.
        """
        if tokens is None and sentences is None:
            raise ConfigError("data.tokens", "a batch needs a limit", "set data.tokens or data.sentences")
        for name, value in (("tokens", tokens), ("sentences", sentences), ("pool", pool)):
            if value is not None and value < 1:
                raise ConfigError(f"data.{name}", f"is {value}", "must be at least 1")
        self.corpus, self.columns, self.route, self.seed = corpus, tuple(columns), route, seed
        self._samplers = {column: tokenizer for column, tokenizer in (tokenizers or {}).items() if tokenizer.samples}
        self._tokens, self._sentences, self._pool = tokens, sentences, pool
        self._lengths = [corpus.lengths(column) + 1 for column in columns]
        self._longest = np.maximum.reduce(self._lengths)

    def epoch_plan(self, epoch: int) -> Plan:
        """The lines of every batch of an epoch; each line of the corpus occurs once."""
        draws = np.random.default_rng((self.seed, epoch))
        plan = [
            lines
            for order in bucketed(self._lengths, self._pool, draws)
            for lines in packed(self._longest[order], order, tokens=self._tokens, sentences=self._sentences)
        ]
        return [plan[index] for index in draws.permutation(len(plan))]

    def batch(self, epoch: int, index: int) -> Batch:
        """One batch; `stream` gives many at less cost, since it plans an epoch once."""
        return self._make(epoch, self.epoch_plan(epoch)[index])

    def stream(self, start: Cursor = START, *, workers: int = 0) -> Iterator[tuple[Cursor, Batch]]:
        """All batches from a cursor on, epoch after epoch, each with the cursor AFTER it: where to go on.

        `workers` threads make batches ahead; neither content nor order depends on them. Closing it ends them.
        """

        def make(place: _Place) -> tuple[Cursor, Batch]:
            return place.after, self._make(place.epoch, place.lines)

        return prefetch(make, self._places(start), workers)

    def _places(self, cursor: Cursor) -> Iterator[_Place]:
        epoch, index = cursor
        while True:
            plan = self.epoch_plan(epoch)
            if index > len(plan):
                problem = f"epoch {epoch} has {len(plan):,} batches, the saved position is after {index:,}"
                raise DataError(self.corpus.folder, problem, hint="these are not the data or settings of that run")
            for after, lines in enumerate(plan[index:], start=index + 1):
                yield _Place(epoch, lines, Cursor(epoch, after) if after < len(plan) else Cursor(epoch + 1))
            epoch, index = epoch + 1, 0

    def _make(self, epoch: int, lines: Longs) -> Batch:
        columns = {
            column: self._sampled(column, epoch, lines)
            if column in self._samplers
            else padded(*self.corpus.gather(column, lines))
            for column in self.columns
        }
        count = int(columns[self.columns[-1]].mask.sum())
        return Batch(columns, self.route, torch.from_numpy(lines.copy()), count)

    def _sampled(self, column: str, epoch: int, lines: Longs) -> Sequences:
        """Newly drawn ids; a draw over the corpus's limit, which a model may rely on, is not taken."""
        rows = list[Sequence[int]]()
        for line in lines.tolist():
            seed = _mixed(self.seed, epoch, line, column)
            ids = self._samplers[column].sample(self.corpus.text(column, line), seed)
            rows.append(ids if len(ids) <= self.corpus.max_tokens else self.corpus.ids(column, line).tolist())
        return collate(rows)


def _mixed(seed: int, epoch: int, line: int, column: str) -> int:
    """32 bits that differ between columns, lines, epochs and seeds, the same on every machine."""
    data = struct.pack("<qqq", seed, epoch, line) + column.encode()
    return int.from_bytes(hashlib.blake2b(data, digest_size=4).digest(), "little")
