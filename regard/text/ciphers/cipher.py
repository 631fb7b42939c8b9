"""The contract of ciphers: at each place of a text the symbols of an alphabet change places."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal

from regard.text.clean import clean

Symbols = Literal["characters", "words"]  # what a text is cut into


class Cipher(ABC):
    """A permutation of symbols 0 … size - 1 for each place; the permutations repeat. A row of CIPHERS."""

    @abstractmethod
    def tables(self, size: int) -> list[list[int]]:
        """Return the permutations that successive places take in turn: the symbol that each symbol becomes."""

    def encrypt(self, ids: Sequence[int], size: int) -> list[int]:
        """Return the symbols of a cipher text, given those of a plain text."""
        return _mapped(ids, self.tables(size))

    def decrypt(self, ids: Sequence[int], size: int) -> list[int]:
        """Return the symbols of a plain text, given those of a cipher text."""
        return _mapped(ids, [sorted(range(size), key=table.__getitem__) for table in self.tables(size)])


def cut_symbols(text: str, symbols: str) -> list[str]:
    """Return the symbols of a text: its words, or its code points after NFC."""
    return text.split() if symbols == "words" else list(clean(text))


def join_symbols(parts: Sequence[str], symbols: str) -> str:
    """Return the text of symbols."""
    return (" " if symbols == "words" else "").join(parts)


def _mapped(ids: Sequence[int], tables: Sequence[Sequence[int]]) -> list[int]:
    return [tables[place % len(tables)][one] for place, one in enumerate(ids)]
