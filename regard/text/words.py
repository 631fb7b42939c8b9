"""One piece per word, number or sign; a single space goes with what is behind it."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from regard.config import Doc
from regard.config.bounds import Count, Pieces
from regard.scripts import CUT_APART
from regard.text.counted import CountedTokenizer, Cut
from regard.text.tokenizer import Recipe, Tokenizer

_CHARACTER = re.compile(f"[{CUT_APART}]")
_PIECE = re.compile(rf" ?(?:[{CUT_APART}]|[^\W{CUT_APART}]+|[^\w\s])|\s", re.DOTALL)


def cut_words(text: str) -> list[str]:
    """'Hello, old world' → ' Hello', ',', ' old', ' world': joined they are the text behind one more space, so that a
    word is the same piece at the beginning of a sentence.
    """
    return _PIECE.findall(" " + text) if text else []


CUT = Cut(cut_words, prefix=" ")


def stands_alone(piece: str) -> bool:
    """Whether a piece is a character of a script that is written without spaces."""
    return _CHARACTER.fullmatch(piece) is not None


class WordsRecipe(Recipe):
    """Words with the space before them, punctuation alone; the most frequent `size`, rarer ones in bytes."""

    def __init__(
        self,
        *,
        size: Annotated[Pieces, Doc("Most words of the vocabulary; rarer ones are spelt in bytes.")] = 30000,
        min_count: Annotated[Count, Doc("Fewest occurrences that give a place in the vocabulary.")] = 1,
    ) -> None:
        self.size, self.min_count = size, min_count

    def train(self, texts: Iterable[str]) -> Tokenizer:
        """Counts words."""
        return CountedTokenizer.train("words", CUT, texts, self.size, self.min_count)

    @staticmethod
    def load(folder: Path) -> Tokenizer:
        """A saved one."""
        return CountedTokenizer.load("words", CUT, folder)
