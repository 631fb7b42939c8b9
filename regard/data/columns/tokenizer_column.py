"""Base class of columns whose values a tokenizer cuts."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from regard.data.columns.column import Column
from regard.pieces import SPECIALS, byte_of
from regard.registry import Choice
from regard.text import Tokenizer, load_tokenizer, train_tokenizer


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
