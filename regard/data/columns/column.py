"""The contract of columns: what one field of an example is made of."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from regard.pieces import SPECIALS
from regard.records import Sequences
from regard.registry import Choice
from regard.text import Tokenizer
from regard.text.offsets import TextPlace

_STRIDE = 37  # every so many of all ids is taken by `spread_ids`


class Column(ABC):
    """Values of one field ↔ ids ↔ tensors. A row of COLUMNS: the class; what it has learnt is its instance."""

    examples: ClassVar[tuple[str, str]] = ("ab", "ba")  # two values to rehearse a model with
    stands_in = False  # True: it knows its example values alone, in a rehearsal
    samples = False  # True: `sample` differs from `encode`
    checked = False  # True: `check` encodes
    closed = False  # True: its values are chosen among, and one that was not learnt cannot be
    lossless = True  # False: what is decoded has lost something
    keeps_words = True  # False: it may have lost words
    tokenizer: Tokenizer | None = None  # what cuts its values into pieces, if anything does

    @classmethod
    @abstractmethod
    def learn(cls, values: Iterable[str], tokenizer: Choice) -> "Column":
        """Return the column that knows these values; text is cut as `tokenizer` says. Raises DataError."""

    @classmethod
    @abstractmethod
    def load(cls, folder: Path) -> "Column":
        """Return what `save` wrote. Raises CheckpointError where it is damaged."""

    @classmethod
    def learns(cls, tokenizer: str) -> str:
        """Return what it learns, where that is what the tokenizer of this name cuts; "" where it is its own values."""
        return ""

    @classmethod
    def folder(cls, name: str, *, shared: bool) -> str:
        """Return the name of the folder that keeps this column's vocabulary; columns of one folder are one."""
        return name

    @classmethod
    def repeated(cls, value: str, times: int) -> str:
        """Return a value so many times as long, for estimates; one without a length stays as it is."""
        return value

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write into a folder, which is made."""

    @abstractmethod
    def key(self) -> str:
        """Return a SHA-256 over everything that decides the ids."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of different ids."""

    @property
    def num_values(self) -> int:
        """Number of values that a model chooses among."""
        return len(self)

    @abstractmethod
    def encode(self, value: str) -> list[int]:
        """Return the ids of one value. Raises DataError for a value that has none."""

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """Return the value that ids stand for."""

    @abstractmethod
    def join(self, flat: NDArray[np.int64], lengths: NDArray[np.int64]) -> Sequences | Tensor:
        """Return rows that lie one after the other (sum of lengths) as one tensor, with whatever ends a row."""

    def collate(self, rows: Sequence[Sequence[int]]) -> Sequences | Tensor:
        """Return rows of ids, as `encode` gives them, as one tensor."""
        lengths = np.array([len(row) for row in rows], np.int64)
        flat = np.fromiter((one for row in rows for one in row), np.int64, int(lengths.sum()))
        return self.join(flat, lengths)

    def spread(self, count: int) -> str:
        """Return a value of about so many ids from all over the vocabulary, to try a model with."""
        return self.decode(spread_ids(count, len(self)))

    def rare(self) -> list[str]:
        """Return values that training saw once, where a value that comes once is a fault rather than usual."""
        return []

    def named(self) -> Sequence[str]:
        """Return what each id names by itself, as a word or a document; "" where it names nothing, () for no names."""
        return ()

    def check(self, value: str) -> None:
        """Raise DataError for a value that has no ids; cheap, so that whole parts are checked before training."""
        if self.checked:
            self.encode(value)

    def encode_batch(self, values: Sequence[str]) -> list[list[int]]:
        """Return `encode` of each."""
        return [self.encode(value) for value in values]

    def longest(self, ids: Sequence[int]) -> int:
        """Return how many of these ids a model reads as one sequence, at most."""
        return len(ids)

    def offsets(self, value: str) -> list[TextPlace]:
        """Return where each id of `encode(value)` stands in the value; [] where a column does not tell."""
        return []

    def sample(self, value: str, seed: int) -> list[int]:
        """Return ids drawn by the value and `seed` alone, where there are several ways to encode it."""
        return self.encode(value)


def spread_ids(count: int, size: int) -> list[int]:
    """Return so many ids from all over a vocabulary of `size`, specials left out."""
    first = len(SPECIALS)
    return [first + place * _STRIDE % max(size - first, 1) for place in range(count)]
