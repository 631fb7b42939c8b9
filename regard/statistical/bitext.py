"""Sentence pairs as numbers of words."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.arrays import Longs
from regard.data.ragged import Ragged

NULL = ""  # the source of target words that have none; its number is 0 on both sides

Words = Sequence[str]
_WORD = re.compile(r"[^ \t\r\n\v\f]+")


def split_words(line: str) -> list[str]:
    """Return the words of a line. Spaces of ASCII part them, as in other tools; a no-break space is part of a word."""
    return _WORD.findall(line)


class Block(NamedTuple):
    """Sentence pairs with equal numbers of words on each side."""

    places: Longs  # of the sentence pairs in the bitext
    sources: NDArray[np.int32]  # (sentence, 1 + source), NULL first
    targets: NDArray[np.int32]  # (sentence, target)

    def flipped(self) -> "Block":
        """Return the pairs with source and target exchanged."""
        return Block(self.places, np.pad(self.targets, ((0, 0), (1, 0))), self.sources[:, 1:])


class Bitext:
    """Sentence pairs. Words are numbers from 1 on, places in `source_words` and `target_words`."""

    def __init__(self, source_words: Words, target_words: Words, sources: Ragged, targets: Ragged) -> None:
        self.source_words, self.target_words = source_words, target_words
        self.sources, self.targets = sources, targets

    @classmethod
    def of(cls, pairs: Iterable[tuple[Words, Words]]) -> "Bitext":
        """Number the words of pairs (source words, target words). Either side may be empty."""
        known: tuple[dict[str, int], dict[str, int]] = ({NULL: 0}, {NULL: 0})
        rows: tuple[list[list[int]], list[list[int]]] = ([], [])
        for pair in pairs:
            for words, ids, side in zip(pair, known, rows, strict=True):
                side.append([ids.setdefault(word, len(ids)) for word in words])
        sources, targets = (Ragged.of(side, np.dtype(np.int32)) for side in rows)
        return cls(list(known[0]), list(known[1]), sources, targets)

    def __len__(self) -> int:
        """Return the number of sentence pairs."""
        return len(self.sources.offsets) - 1

    def flipped(self) -> "Bitext":
        """Return the pairs with source and target exchanged."""
        return Bitext(self.target_words, self.source_words, self.targets, self.sources)

    def blocks(self) -> list[Block]:
        """Return all sentence pairs that have target words, by their numbers of source and of target words."""
        many = (self.sources.lengths(), self.targets.lengths())
        order = np.lexsort((many[1], many[0]))
        order = order[many[1][order] > 0]
        if not len(order):
            return []
        changes = np.diff(many[0][order]).astype(bool) | np.diff(many[1][order]).astype(bool)
        return [self._block(places) for places in np.split(order, np.flatnonzero(changes) + 1)]

    def _block(self, places: Longs) -> Block:
        sources: NDArray[Any] = self.sources.gather(places)[0].reshape(len(places), -1)
        targets = self.targets.gather(places)[0].reshape(len(places), -1)
        return Block(places, np.pad(sources, ((0, 0), (1, 0))), targets)
