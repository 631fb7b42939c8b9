"""Text split into words: the input of a tagger."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from regard.data.columns.column import spread_ids
from regard.data.columns.text import TokenizerColumn
from regard.records import PAD, Sequences
from regard.text import Tokenizer


class WordsColumn(TokenizerColumn):
    """Words separated by spaces, each cut into pieces by itself: ids (batch, word, piece), without an end symbol.

    So the text keeps its number of words with any tokenizer. In a flat row the first piece of a word is marked: the
    size of the tokenizer's vocabulary is added to its id.
    """

    examples = ("ab ba", "ba")

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(tokenizer)
        self._mark = len(tokenizer)

    @classmethod
    def learnt_from(cls, value: str) -> str:
        return " ".join(value.split())

    def key(self) -> str:
        return f"words {self.tokenizer.key()}"

    def __len__(self) -> int:
        return 2 * self._mark

    def encode(self, value: str) -> list[int]:
        return self.encode_batch([value])[0]

    def encode_batch(self, values: Sequence[str]) -> list[list[int]]:
        texts = [value.split() for value in values]
        words = list(dict.fromkeys(word for text in texts for word in text))
        known = dict(zip(words, map(self._marked, self.tokenizer.encode_batch(words)), strict=True))
        return [[one for word in text for one in known[word]] for text in texts]

    def sample(self, value: str, seed: int) -> list[int]:
        """Sample a segmentation of each word, seeded by its place."""
        cut = (self.tokenizer.sample(word, (seed + place) % 2**63) for place, word in enumerate(value.split()))
        return [one for ids in cut for one in self._marked(ids)]

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(self.words(ids))

    def spread(self, count: int) -> str:
        return self.decode([self._mark + piece for piece in spread_ids(count, self._mark)])

    def words(self, ids: Sequence[int]) -> list[str]:
        """Return the words of a flat row."""
        found: list[list[int]] = []
        for one in ids:
            if one >= self._mark:
                found.append([])
            found[-1].append(one % self._mark)
        return [self.tokenizer.decode(pieces) for pieces in found]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return what each id stands for, as shown to a person."""
        return self.tokenizer.pieces([one % self._mark for one in ids])

    def flat(self, words: Sequences) -> list[list[int]]:
        """Undo `join`: ids (batch, word, piece) → marked ids of each text."""
        first = torch.zeros_like(words.items)
        first[..., :1] = self._mark
        marked = words.items + first
        return [row[mask].tolist() for row, mask in zip(marked, words.mask, strict=True)]

    def join(self, flat: NDArray[np.int64], lengths: NDArray[np.int64]) -> Sequences:
        """Pad words and pieces on the right, to one at least."""
        rows, first = np.repeat(np.arange(len(lengths)), lengths), flat >= self._mark
        counts = np.bincount(rows[first], minlength=len(lengths))  # words of each row
        number, starts = np.cumsum(first) - 1, np.flatnonzero(first)  # of each piece the word, of each word the start
        word = number - (np.cumsum(counts) - counts)[rows]
        piece = np.arange(len(flat)) - starts[number]
        ids = np.full((len(lengths), max(word.max(initial=0), 0) + 1, piece.max(initial=0) + 1), PAD, np.int64)
        mask = np.zeros(ids.shape, np.bool_)
        ids[rows, word, piece], mask[rows, word, piece] = flat % self._mark, True
        return Sequences(torch.from_numpy(ids), torch.from_numpy(mask))

    def _marked(self, ids: Sequence[int]) -> list[int]:
        first, *others = ids
        return [first + self._mark, *others]
