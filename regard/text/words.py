"""One piece per word, number or sign; a single space goes with what is behind it."""

import re
from typing import Annotated

from regard.config import Doc
from regard.config.bounds import Pieces
from regard.scripts import CUT_APART
from regard.text.counted import CountedRecipe, Cut, Fewest

_CHARACTER = re.compile(f"[{CUT_APART}]")
PIECE_PATTERN = rf" ?(?:[{CUT_APART}]|[^\W{CUT_APART}]+|[^\w\s])|\s"  # no part depends on flags
_PIECE = re.compile(PIECE_PATTERN)


def cut_words(text: str) -> list[str]:
    """'Hello, old world' → ' Hello', ',', ' old', ' world': joined they are the text behind one more space, so that a
    word is the same piece at the beginning of a sentence.
    """
    return _PIECE.findall(" " + text) if text else []


def stands_alone(piece: str) -> bool:
    """Return whether a piece is a character of a script that is written without spaces."""
    return _CHARACTER.fullmatch(piece) is not None


class WordsRecipe(CountedRecipe):
    """Words with the space before them, punctuation alone; the most frequent `size`, rarer ones in bytes."""

    kind, cut = "words", Cut(cut_words, prefix=" ")

    def __init__(
        self,
        *,
        size: Annotated[Pieces, Doc("Maximum vocabulary size, in words; rarer ones become bytes.")] = 30000,
        min_count: Fewest = 1,
    ) -> None:
        super().__init__(size, min_count)
