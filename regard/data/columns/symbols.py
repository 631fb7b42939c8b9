"""Symbols of a cipher: the characters or words of a text, each with a number."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.data.collate import padded
from regard.data.columns.column import Column
from regard.data.columns.label import load_labels, save_labels
from regard.errors import DataError, PartError
from regard.records import PAD, Sequences
from regard.registry import Choice
from regard.text.ciphers import cut_symbols, join_symbols

UNKNOWN_SYMBOL = "\ufffd"  # written for a symbol out of the vocabulary
_LEVELS = ("characters", "words")
_MOST = 4000  # size of the vocabulary, unless the tokenizer has one


class SymbolsColumn(Column):
    """Characters or words of a text, as text.tokenizer says: ids (batch, longest), from 1 on.

    0 is padding and, inside a text, an unknown symbol. Rows have no end symbol.
    """

    examples = ("ab", "ba")

    def __init__(self, level: str, symbols: Sequence[str]) -> None:
        self.level, self.symbols = level, tuple(symbols)
        self._numbers = {one: number for number, one in enumerate(self.symbols, start=PAD + 1)}

    def __len__(self) -> int:
        return len(self.symbols) + 1

    @classmethod
    def learn(cls, values: Iterable[str], tokenizer: Choice) -> "SymbolsColumn":
        """Learn the most frequent symbols, in the order of their code points. Raises DataError where there is none."""
        if tokenizer.name not in _LEVELS:
            problem = f"'{tokenizer.name}' cuts texts into pieces, and a cipher changes symbols"
            raise PartError(problem, " or ".join(f"text.tokenizer={one}" for one in _LEVELS))
        counts = Counter(one for value in values for one in cut_symbols(value, tokenizer.name))
        if not counts:
            raise DataError("training text", f"there are no {tokenizer.name} to learn", hint="is the file empty?")
        most = counts.most_common(int(tokenizer.settings.get("size", _MOST)))
        return cls(tokenizer.name, sorted(one for one, _ in most))

    @classmethod
    def load(cls, folder: Path) -> "SymbolsColumn":
        level, *symbols = load_labels(folder) or [_LEVELS[0]]
        return cls(level, symbols)

    @classmethod
    def repeated(cls, value: str, times: int) -> str:
        return value * times

    @classmethod
    def folder(cls, name: str, *, shared: bool) -> str:
        """Return the folder: both texts share their symbols, or each has its own."""
        return "shared" if shared else name

    def save(self, folder: Path) -> None:
        save_labels(folder, (self.level, *self.symbols))

    def key(self) -> str:
        return hashlib.sha256(json.dumps(["symbols", self.level, *self.symbols]).encode()).hexdigest()

    @classmethod
    def learns(cls, tokenizer: str) -> str:
        return tokenizer

    def encode(self, value: str) -> list[int]:
        return [self._numbers.get(one, PAD) for one in self.cut(value)]

    def decode(self, ids: Sequence[int]) -> str:
        return self.joined(self.shown(ids))

    def joined(self, symbols: Sequence[str]) -> str:
        """Return the text of symbols."""
        return join_symbols(symbols, self.level)

    def cut(self, value: str) -> list[str]:
        """Return the symbols of a text, unknown ones included."""
        return cut_symbols(value, self.level)

    def shown(self, ids: Sequence[int]) -> list[str]:
        """Return the symbol of each id."""
        return [UNKNOWN_SYMBOL if one == PAD else self.symbols[one - PAD - 1] for one in ids]

    @property
    def num_values(self) -> int:
        return len(self.symbols)

    def spread(self, count: int) -> str:
        return self.decode([PAD + 1 + place % len(self.symbols) for place in range(count)])

    def join(self, flat: NDArray[np.int64], lengths: NDArray[np.int64]) -> Sequences:
        """Pad on the right, to one symbol at min_length; rows have no end symbol."""
        return padded(flat, lengths, min_length=1)
