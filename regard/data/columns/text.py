"""Text, cut into pieces by a tokenizer."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from regard.data.collate import ended
from regard.data.columns.column import Column
from regard.pieces import BOS, SPECIALS, byte_of
from regard.records import Sequences
from regard.registry import Choice
from regard.text import Tokenizer, load_tokenizer, train_tokenizer
from regard.text.offsets import TextPlace


class TokenizerColumn(Column):
    """Texts, kept as the tokenizer that was learnt from them."""

    tokenizer: Tokenizer

    @abstractmethod
    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer, self.samples = tokenizer, tokenizer.samples
        self.lossless, self.keeps_words = tokenizer.lossless, tokenizer.keeps_words
        self.writes, self.first = tokenizer.writes, tokenizer.first

    @classmethod
    def learn(cls, values: Iterable[str], tokenizer: Choice) -> Self:
        return cls(train_tokenizer(tokenizer, map(cls.learnt_from, values)))

    @classmethod
    def learnt_from(cls, value: str) -> str:
        """Return the text of a value that the tokenizer learns from."""
        return value

    @classmethod
    def load(cls, folder: Path) -> Self:
        return cls(load_tokenizer(folder))

    @classmethod
    def learns(cls, tokenizer: str) -> str:
        return tokenizer

    @classmethod
    def folder(cls, name: str, *, shared: bool) -> str:
        """Return the folder: all texts share a vocabulary, or each has its own."""
        return "shared" if shared else name

    @classmethod
    def repeated(cls, value: str, times: int) -> str:
        return " ".join([value] * times)

    def save(self, folder: Path) -> None:
        self.tokenizer.save(folder)

    def named(self) -> Sequence[str]:
        """Return the word of each id as in texts; "" for specials, bytes, spaces and pieces with inner spaces."""
        pieces = self.tokenizer.pieces(range(len(self.tokenizer)))
        words = ("" if one in SPECIALS or byte_of(one) is not None else one.strip(" ▁\t\n\r") for one in pieces)
        return ["" if any(map(str.isspace, word)) else word for word in words]


class TextColumn(TokenizerColumn):
    """Pieces of a text, followed by the end symbol: ids (batch, longest + 1)."""

    def __init__(
        self, tokenizer: Tokenizer, *, most: int | None = None, from_end: bool = False, begins: bool = False
    ) -> None:
        """Read the first `most` pieces of a longer text, or with `from_end` the last ones; None: all.

        With `begins` each text starts with <s>.
        """
        super().__init__(tokenizer)
        self._first = [BOS] if begins else []
        self._cut = slice(None) if most is None else slice(-most, None) if from_end else slice(most)

    def cut(self, most: int | None, *, from_end: bool = False, begins: bool = False) -> "TextColumn":
        """Return the same column, which reads `most` pieces of a text at most, after <s> with `begins`."""
        return TextColumn(self.tokenizer, most=most, from_end=from_end, begins=begins)

    def key(self) -> str:
        limit = "" if self._cut == slice(None) else f" {self._cut.start} {self._cut.stop}"
        return f"{self.tokenizer.key()}{limit}{' <s>' * len(self._first)}"

    def __len__(self) -> int:
        return len(self.tokenizer)

    def encode(self, value: str) -> list[int]:
        return [*self._first, *self.tokenizer.encode(value)[self._cut]]

    def encode_batch(self, values: Sequence[str]) -> list[list[int]]:
        return [[*self._first, *ids[self._cut]] for ids in self.tokenizer.encode_batch(values)]

    def offsets(self, value: str) -> list[TextPlace]:
        return [*(None for _ in self._first), *self.tokenizer.offsets(value)[self._cut]]

    def sample(self, value: str, seed: int) -> list[int]:
        return [*self._first, *self.tokenizer.sample(value, seed)[self._cut]]

    def decode(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(ids)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return what each id stands for, as shown to a person."""
        return self.tokenizer.pieces(ids)

    def has_ids_of(self, other: Column) -> bool:
        """Return whether both have one list of pieces."""
        theirs = other.tokenizer
        if self is other or self.stands_in or theirs is None or len(theirs) != len(self):
            return self is other
        return self.tokenizer.pieces(range(len(self))) == theirs.pieces(range(len(self)))

    def knows(self, ids: Sequence[int]) -> bool:
        """Return whether any piece is more than a special one, a byte or a space."""
        pieces = (self.tokenizer.pieces([one])[0] for one in ids if one >= len(SPECIALS))
        return any(byte_of(piece) is None and piece.strip(" ▁") for piece in pieces)

    @cached_property
    def alphabet(self) -> frozenset[str]:
        """Characters that pieces hold; others are encoded as bytes."""
        pieces = self.tokenizer.pieces(range(len(SPECIALS), len(self)))
        return frozenset(character for piece in pieces if byte_of(piece) is None for character in piece)

    def join(self, flat: NDArray[np.int64], lengths: NDArray[np.int64]) -> Sequences:
        return ended(flat, lengths)
