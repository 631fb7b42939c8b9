"""Words of pieces, many rows at once, are those of one row after another; windows of documents by hand."""

import numpy as np
import pytest

from regard.explain.tokens import words_of
from regard.pieces import SPECIALS, byte_piece
from regard.text.windows import windows, with_windows
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


@pytest.mark.parametrize(
    ("size", "found"),
    [(1, ["a", "b", "c"]), (2, ["a\tb", "a\tb", "c"]), (3, ["a\tb\tc"] * 3), (9, ["a\tb\tc"] * 3)],
)
def test_windows_follow_on_each_other(size, found):
    assert windows(["a", "b", "c"], size) == found


def test_lines_have_their_windows():
    assert with_windows(["a", "b", "c"], 2) == ["a\ta\tb", "b\ta\tb", "c"]
    assert with_windows(["a\tx", "b"], 2) == ["a x\ta x\tb", "b\ta x\tb"]  # a tab inside would end the sentence
    assert with_windows(["a\tx", "b"], 1) == ["a\tx", "b"]
    assert with_windows([], 4) == []
