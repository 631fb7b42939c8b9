"""Noise on source texts."""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from regard.arrays import Longs
from regard.config import Doc
from regard.config.bounds import Count, Ratio
from regard.data.collate import ended
from regard.data.transforms.transform import LineSeeds, Transform
from regard.errors import ConfigError
from regard.records import UNK, Batch

_SOURCE = "source"


class Noise(Transform):
    """Drops, blanks and slightly reorders the pieces of each source, for denoising autoencoders and back-translation.

    https://arxiv.org/abs/1711.00043, section 2.3: piece i moves to the rank of i + u, u uniform in [0, swap + 1), so by
    at most `swap` places. The end symbol stays at the end, and a source with pieces keeps at least one.
    """

    def __init__(
        self,
        *,
        drop: Annotated[Ratio, Doc("Word dropout: probability that a piece is deleted.")] = 0.1,
        blank: Annotated[Ratio, Doc("Blanking: probability that a piece is replaced by a blank.")] = 0.0,
        swap: Annotated[Count, Doc("Maximum displacement of a piece in the local shuffle.")] = 3,
    ) -> None:
        self.drop, self.blank, self.swap = drop, blank, swap

    def __call__(self, batch: Batch, rng: LineSeeds) -> Batch:
        """Return the batch with noisy sources; targets and `count` stay. Raises ConfigError without a source column."""
        if _SOURCE not in batch.columns:
            raise ConfigError("data.transforms", "'noise' changes a source, and these examples have none")
        items, mask = (part.numpy() for part in batch.sequences(_SOURCE))
        rows = [
            self._noisy(ids[known][:-1], rng.of(line))
            for ids, known, line in zip(items, mask, batch.lines.tolist(), strict=True)
        ]
        lengths = np.array([len(row) for row in rows], np.int64)
        noisy = ended(np.concatenate([np.zeros(0, np.int64), *rows]), lengths)
        return batch._replace(columns={**batch.columns, _SOURCE: noisy})

    def _noisy(self, ids: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the noisy pieces of one source, without its end symbol."""
        return noisy_words(ids, np.arange(len(ids)), rng, drop=self.drop, blank=self.blank, swap=self.swap)


def noisy_words(ids: Longs, words: Longs, rng: np.random.Generator, *, drop: float, blank: float, swap: int) -> Longs:
    """Return pieces with some words dropped, blanked and moved by at most `swap` places; a word stays whole.

    `ids` (n,) without an end symbol; `words` (n,) is the number of each piece's word, from 0 on without a gap.
    """
    count = int(words[-1]) + 1 if len(words) else 0
    dropped, blanked, moved = rng.random((3, count))
    kept = dropped >= drop
    if count and not kept.any():
        kept[dropped.argmax()] = True
    ranks = np.arange(count) - np.cumsum(~kept) + moved * (swap + 1)  # a dropped word takes no place
    order = np.argsort(ranks[words], kind="stable")
    return np.where(blanked[words] < blank, UNK, ids)[order[kept[words][order]]]
