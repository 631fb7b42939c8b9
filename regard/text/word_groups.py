"""Which pieces make a word: a Han or Kana character, a sign and the end symbol stand alone."""

import re
import unicodedata
from collections.abc import Sequence

import numpy as np

from regard.arrays import Longs
from regard.pieces import END, byte_of
from regard.scripts import HAN, KANA

SPACE_MARK = "▁"  # U+2581, the space before a piece
SPACES = (SPACE_MARK, " ")
_ALONE = re.compile(f"[{HAN}{KANA}]")


def continues(before: str, piece: str) -> bool:
    """Return whether a piece goes on with the word of the piece before it, where pieces mark spaces."""
    if END in (before, piece):
        return False
    if before in SPACES:
        return not piece.startswith(SPACES)
    return _joins(before, -1) and _joins(piece, 0)


def _joins(piece: str, end: int) -> bool:
    if not piece or byte_of(piece) is not None:
        return True
    character = piece[end]
    return unicodedata.category(character)[0] in "LMN" and not _ALONE.match(character)


class WordGroups:
    """The rule of `continues` for ids of a vocabulary, many rows at once."""

    def __init__(self, pieces: Sequence[str]) -> None:
        """`pieces` of all ids."""
        self._spaced = np.array([piece.startswith(SPACES) for piece in pieces])
        self._space = np.array([piece in SPACES for piece in pieces])
        self._ends = np.array([piece == END for piece in pieces])
        self._joins = [np.array([_joins(piece, end) for piece in pieces]) for end in (0, -1)]

    def numbers(self, ids: Longs) -> Longs:
        """ids (row, n) → the number of each one's word, from 0. In a row without spaces each piece is a word."""
        before, after = ids[:, :-1], ids[:, 1:]
        first, last = self._joins
        joined = np.where(self._space[before], ~self._spaced[after], last[before] & first[after])
        joined &= ~(self._ends[before] | self._ends[after]) & self._spaced[ids].any(axis=1, keepdims=True)
        return np.pad(np.cumsum(~joined, axis=1), ((0, 0), (1, 0)))
