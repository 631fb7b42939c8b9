"""Words of pieces, many rows at once, are those of one row after another."""

import numpy as np

from regard.explain.tokens import words_of
from regard.pieces import SPECIALS, byte_piece
from regard.text.word_groups import WordGroups

PIECES = [*SPECIALS, byte_piece(0xC3), "▁", "▁Haus", "tür", "▁.", ".", "é", "家", "▁家", "1", "-", " blau"]


def test_rows_at_once_equal_rows_alone():
    ids = np.random.default_rng(1).integers(1, len(PIECES), (300, 7))
    for row, numbers in zip(ids.tolist(), WordGroups(PIECES).numbers(ids).tolist(), strict=True):
        words = words_of([PIECES[one] for one in row])
        assert numbers == [number for number, word in enumerate(words) for _ in word.pieces]


def test_pieces_without_spaces_are_words():
    ids = np.array([[PIECES.index(piece) for piece in ("tür", "é", "1")]])
    assert WordGroups(PIECES).numbers(ids).tolist() == [[0, 1, 2]]
