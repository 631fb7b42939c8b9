"""Words with their contexts and negative samples: training examples of word2vec (https://arxiv.org/abs/1310.4546).

Every sample is a pure function of (seed, epoch, line, place in the line), so lines may come in any order and grouping.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray

from regard.arrays import Longs
from regard.data.ragged import Ragged
from regard.data.streams import EpochStream
from regard.records import Batch

Bits = NDArray[np.uint64]

CONTEXTS, TARGETS = "contexts", "targets"  # (word, 2 · window), -1 for none; (word, 1 + negatives), the word first
_KEPT, SHRUNK, NEGATIVES = 0, 1, 2  # uses of a word's random numbers: negatives from DRAWN on
_STRIDE = 2**20  # random numbers that a word may need


_STEP, _FIRST, _SECOND = (np.uint64(one) for one in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


class HashedNumbers:
    """Random numbers of one epoch: a hash of line and number.

    The mixing function is that of SplitMix64 (Steele, Lea and Flood 2014, https://doi.org/10.1145/2714064.2660195).
    """

    def __init__(self, seed: int, epoch: int) -> None:
        self._key = np.random.SeedSequence((seed, epoch)).generate_state(1, np.uint64)

    def of(self, lines: NDArray[Any], numbers: NDArray[Any]) -> Bits:
        """Return 64 bits for each number of a line; the arrays have one shape, or shapes that broadcast to one."""
        return _mixed(_mixed(lines.astype(np.uint64) * _STEP + self._key) + numbers.astype(np.uint64) * _STEP)


class AliasSampler:
    """Samples ids by weights (ids,) in constant time (Walker 1977, https://doi.org/10.1145/355744.355749)."""

    def __init__(self, weights: NDArray[np.float64]) -> None:
        share = weights * (len(weights) / weights.sum())  # of a slot each
        self._others = np.arange(len(weights), dtype=np.int32)
        small, large = (list(np.flatnonzero(part)) for part in (share < 1, share >= 1))
        while small and large:  # a slot that is not full is filled up from one that is more than full
            low, high = small.pop(), large[-1]
            self._others[low] = high
            share[high] -= 1 - share[low]
            if share[high] < 1:
                small.append(large.pop())
        share[[*small, *large]] = 1.0  # but for rounding
        self._full = np.minimum(share * 2.0**32, 2.0**32).astype(np.uint64)

    def sample(self, bits: Bits) -> NDArray[np.int32]:
        """Return an id for each 64 bits: the upper half chooses a slot, the lower one of its two ids."""
        slots = ((bits >> np.uint64(32)) * np.uint64(len(self._others)) >> np.uint64(32)).astype(np.int32)
        stays = (bits & np.uint64(0xFFFFFFFF)) < self._full[slots]
        return np.where(stays, slots, self._others[slots])


class Sampling(NamedTuple):
    """Settings of the sampling of examples."""

    window: int  # most words on either side
    negatives: int
    power: float  # of the counts, as the weights of the noise
    frequent: float  # relative frequency above which a word is left out at random; 0: never


class WordWindows(EpochStream):
    """Batches of about `tokens` words, and at least one line; lines are in another random order in each epoch.

    A word of relative frequency f is kept with probability (√(f / t) + 1) · t / f, where t is `frequent`: as in the
    code of word2vec, not the paper. Other words, and words without a vector, are removed before windows are cut. The
    size of each word's window is sampled. Negatives are sampled once for all contexts of a word
    (https://arxiv.org/abs/1604.04661); one that equals the word is replaced.
    """

    company: ClassVar[bool] = True  # whether a word without neighbours is left out

    def __init__(
        self,
        lines: Ragged,
        sampling: Sampling,
        counts: Longs,
        *,
        route: str,
        tokens: int = 8192,
        seed: int = 0,
        place: Path | None = None,
    ) -> None:
        """`counts` (ids,) are the occurrences of each id, 0 for one without a vector; `place` is named in errors."""
        self.lines, self.sampling, self.route, self.seed = lines, sampling, route, seed
        self.tokens, self.place = tokens, place or Path()
        share = counts / max(1, counts.sum())
        weighted = np.where(share > 0, share, 1.0)
        most = sampling.frequent
        kept = np.minimum(1.0, (np.sqrt(weighted / most) + 1) * most / weighted) if most else np.ones(len(counts))
        self._kept = np.where(share > 0, kept * 2.0**32, 0.0).astype(np.uint64)
        self._noise = AliasSampler(np.where(share > 0, share, 0.0) ** sampling.power * (share > 0))
        reach = np.arange(1, sampling.window + 1)
        self._offsets = np.concatenate([-reach[::-1], reach])

    def all(self) -> list[Batch]:
        """Return every line once, in order."""
        order = np.arange(len(self.lines.offsets) - 1)
        return [self._batch(0, lines) for lines in self._cut(order)]

    def batches_of(self, epoch: int) -> list[partial[Batch]]:
        order = np.random.default_rng((self.seed, epoch)).permutation(len(self.lines.offsets) - 1)
        return [partial(self._batch, epoch, one) for one in self._cut(order)]

    def _cut(self, order: Longs) -> list[Longs]:
        """Cut lines into parts of about `tokens` words."""
        ends = np.cumsum(self.lines.offsets[order + 1] - self.lines.offsets[order])
        numbers = (ends - 1) // self.tokens
        return [part for part in np.split(order, np.flatnonzero(np.diff(numbers)) + 1) if len(part)]

    def _batch(self, epoch: int, lines: Longs) -> Batch:
        return self.made(epoch, lines, *self.lines.gather(lines))

    def made(self, epoch: int, lines: Longs, ids: NDArray[Any], lengths: Longs) -> Batch:
        """Return each kept word that has neighbours, with its contexts and negatives.

        `ids` are those of `lines`, concatenated; `lengths` are their numbers.
        """
        draws = HashedNumbers(self.seed, epoch)
        of, first = np.repeat(lines, lengths), np.repeat(np.cumsum(lengths) - lengths, lengths)
        numbers = (np.arange(len(ids)) - first) * _STRIDE
        kept = (draws.of(of, numbers + _KEPT) >> np.uint64(32)) < self._kept[ids]
        ids, of, numbers = ids[kept].astype(np.int32), of[kept], numbers[kept]
        contexts = self._contexts(ids, of, draws.of(of, numbers + SHRUNK))
        near = (contexts >= 0).any(axis=1) | (not self.company)
        ids, of, numbers = ids[near], of[near], numbers[near]
        targets = np.concatenate([ids[:, None], self._negatives(ids, of, numbers, draws)], axis=1)
        columns = {CONTEXTS: torch.from_numpy(contexts[near]), TARGETS: torch.from_numpy(targets)}
        return Batch(columns, self.route, torch.from_numpy(of.astype(np.int64)), len(ids), int(lengths.sum()))

    def _contexts(self, ids: NDArray[np.int32], of: Longs, bits: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Return ids (word, 2 · window) around each word: in its own line and within its sampled window."""
        reach = (1 + (bits >> np.uint64(32)) % np.uint64(self.sampling.window)).astype(np.int64)
        begins = np.flatnonzero(np.diff(of, prepend=-1))  # a line occurs once in a batch at most
        sizes = np.diff(begins, append=len(of))
        starts, ends = np.repeat(begins, sizes), np.repeat(begins + sizes, sizes)
        here = np.arange(len(ids))
        low, high = np.maximum(starts, here - reach), np.minimum(ends, here + reach + 1)
        places = here[:, None] + self._offsets
        there = (places >= low[:, None]) & (places < high[:, None])
        return np.where(there, ids[np.where(there, places, 0)], np.int32(-1)) if len(ids) else places.astype(np.int32)

    def _negatives(self, ids: NDArray[np.int32], of: Longs, numbers: Longs, draws: HashedNumbers) -> NDArray[np.int32]:
        """Return sampled ids (word, negatives), none of which is the word."""
        wanted = self.sampling.negatives
        found = self._noise.sample(draws.of(of[:, None], numbers[:, None] + NEGATIVES + np.arange(wanted)))
        rows, places = (found == ids[:, None]).nonzero()
        attempt = 0
        while len(rows):
            attempt += 1
            again = draws.of(of[rows], numbers[rows] + NEGATIVES + attempt * wanted + places)
            found[rows, places] = self._noise.sample(again)
            same = found[rows, places] == ids[rows]
            rows, places = rows[same], places[same]
        return found


def _mixed(bits: Bits) -> Bits:
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    mixed: Bits = bits ^ (bits >> np.uint64(31))
    return mixed


DOCUMENT_NUMBERS = "document"  # (word,): the number of the document that a word stands in, -1 for one that is not known
UNKNOWN_DOCUMENT = -1
WORDS_AT_ONCE = 2**16  # words of all passes over a text that are sampled at once


class DocumentWindows(WordWindows):
    """Windows of words, with the document of each word; a word without neighbours stays: it has its document."""

    company = False

    def __init__(self, lines: Ragged, documents: Longs, *given: Any, **settings: Any) -> None:
        """`documents` (line,) are the numbers of the lines' documents."""
        super().__init__(lines, *given, **settings)
        self.documents = documents

    def made(self, epoch: int, lines: Longs, ids: NDArray[Any], lengths: Longs) -> Batch:
        batch = super().made(epoch, lines, ids, lengths)
        documents = torch.from_numpy(self.documents[batch.lines.numpy()])
        return batch._replace(columns={**batch.columns, DOCUMENT_NUMBERS: documents})


def parted(lines: Ragged, documents: Longs, most: int) -> tuple[Ragged, Longs]:
    """Lines and their documents (line,) → parts of `most` words at most, and the documents of the parts."""
    counts = np.maximum(1, -(-np.diff(lines.offsets) // most))
    of = np.repeat(np.arange(len(counts)), counts)
    numbers = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = lines.offsets[of] + numbers * most
    return Ragged(lines.data, np.append(starts, lines.offsets[-1])), documents[of]


class TextWindows:
    """The words of one text, sampled again in each of `passes`: its vector is inferred from them.

    Samples depend on the place in the text and the pass alone, so a text's vector depends on nothing but the text.
    """

    def __init__(self, passes: int, *given: Any, **settings: Any) -> None:
        """Take `passes`, then the arguments of `DocumentWindows`."""
        self._windows = DocumentWindows(
            Ragged.of([], np.dtype(np.int64)), np.full(passes, UNKNOWN_DOCUMENT), *given, **settings
        )
        self.passes = passes

    def of(self, ids: list[int]) -> Iterator[Batch]:
        """Yield a batch for each pass."""
        at_once = max(1, WORDS_AT_ONCE // max(1, len(ids)))
        for first in range(0, self.passes, at_once):
            yield from self._sampled(ids, np.arange(first, min(first + at_once, self.passes)))

    def _sampled(self, ids: list[int], passes: Longs) -> Iterator[Batch]:
        """The batches of some passes."""
        text = np.tile(np.array(ids, np.int64), len(passes))
        made = self._windows.made(0, passes, text, np.full(len(passes), len(ids)))
        sizes = np.bincount(made.lines.numpy() - passes[0], minlength=len(passes)).tolist()
        rows = zip(*(cast(torch.Tensor, column).split(sizes) for column in made.columns.values()), strict=True)
        return (made._replace(columns=dict(zip(made.columns, one, strict=True))) for one in rows)
