"""The contract of columns: one field of an example."""

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

_STRIDE = 37  # `spread_ids` takes every 37th id


class Column(ABC):
    """Values of one field ↔ ids ↔ tensors. The class is a row of COLUMNS; an instance holds its vocabulary."""

    examples: ClassVar[tuple[str, str]] = ("ab", "ba")  # two values for rehearsals of a model
    stands_in = False  # True: learnt from its example values alone, for a rehearsal
    samples = False  # True: `sample` differs from `encode`
    checked = False  # True: `check` encodes
    closed = False  # True: its values are a closed set, learnt in training
    lossless = True  # False: decoding does not restore the whole value
    writes = False  # True: what is decoded can be shown, though it may be normalised
    keeps_words = True  # False: decoding may lose words
    first: tuple[int, ...] = ()  # ids that every value begins with
    tokenizer: Tokenizer | None = None  # cuts its values into pieces

    @classmethod
    @abstractmethod
    def learn(cls, values: Iterable[str], tokenizer: Choice) -> "Column":
        """Return a column learnt from these values; `tokenizer` cuts text. Raises DataError."""

    @classmethod
    @abstractmethod
    def load(cls, folder: Path) -> "Column":
        """Read a column that `save` wrote. Raises CheckpointError where it is damaged."""

    @classmethod
    def learns(cls, tokenizer: str) -> str:
        """Return the kind of units that it learns with the tokenizer of this name; "" where it learns its values."""
        return ""

    @classmethod
    def folder(cls, name: str, *, shared: bool) -> str:
        """Return the name of the folder that keeps this column's vocabulary; columns of one folder are one."""
        return name

    @classmethod
    def repeated(cls, value: str, times: int) -> str:
        """Return a value repeated `times` times, for estimates; one without a length stays as it is."""
        return value

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write into a folder, which is made."""

    @abstractmethod
    def key(self) -> str:
        """Return a SHA-256 of everything that determines the ids."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of different ids."""

    @property
    def num_values(self) -> int:
        """Number of classes of a model's output."""
        return len(self)

    @abstractmethod
    def encode(self, value: str) -> list[int]:
        """Return the ids of one value. Raises DataError for a value that has none."""

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """Return the value that ids stand for."""

    @abstractmethod
    def join(self, flat: NDArray[np.int64], lengths: NDArray[np.int64]) -> Sequences | Tensor:
        """Return concatenated rows (sum of lengths,) as one tensor, with the end symbol of each row, if any."""

    def collate(self, rows: Sequence[Sequence[int]]) -> Sequences | Tensor:
        """Return rows of ids, as `encode` gives them, as one tensor."""
        lengths = np.array([len(row) for row in rows], np.int64)
        flat = np.fromiter((one for row in rows for one in row), np.int64, int(lengths.sum()))
        return self.join(flat, lengths)

    def values(self, joined: Tensor) -> list[str]:
        """Return the value of each row of a tensor (batch,) of labels, as `join` makes it."""
        return [self.decode([one]) for one in joined.tolist()]

    def spread(self, count: int) -> str:
        """Return a value of about `count` ids, spread over the vocabulary, to test a model with."""
        return self.decode(spread_ids(count, len(self)))

    def rare(self) -> list[str]:
        """Return the values that occur once in training, where this points to an error; else none."""
        return []

    def named(self) -> Sequence[str]:
        """Return the word or document of each id; "" where an id has none, () where no id has one."""
        return ()

    def check(self, value: str) -> None:
        """Raise DataError for a value that has no ids; cheap, so that whole data sets are checked before training."""
        if self.checked:
            self.encode(value)

    def has_ids_of(self, other: "Column") -> bool:
        """Return whether ids stand for the same values in another column, though it may cut them in another way."""
        return self is other

    def encode_batch(self, values: Sequence[str]) -> list[list[int]]:
        """Return `encode` of each."""
        return [self.encode(value) for value in values]

    def longest(self, ids: Sequence[int]) -> int:
        """Return the length of the longest sequence that a model reads of these ids."""
        return len(ids)

    def offsets(self, value: str) -> list[TextPlace]:
        """Return the place of each id of `encode(value)` in the value; [] where they are not known."""
        return []

    def sample(self, value: str, seed: int) -> list[int]:
        """Return ids sampled by the value and `seed` alone, where it has several encodings."""
        return self.encode(value)


def spread_ids(count: int, size: int) -> list[int]:
    """Return `count` ids spread over a vocabulary of `size`, without the special ones."""
    first = len(SPECIALS)
    return [first + place * _STRIDE % max(size - first, 1) for place in range(count)]
