"""One piece per character."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from regard.config import Doc
from regard.config.bounds import Count, Pieces
from regard.text.counted import CountedTokenizer, Cut
from regard.text.tokenizer import Recipe, Tokenizer

CUT = Cut(list)


class CharactersRecipe(Recipe):
    """Characters (code points after NFC), the most frequent `size` of them; rarer ones are spelt in bytes."""

    def __init__(
        self,
        *,
        size: Annotated[Pieces, Doc("Most characters of the vocabulary; rarer ones are spelt in bytes.")] = 4000,
        min_count: Annotated[Count, Doc("Fewest occurrences that give a place in the vocabulary.")] = 1,
    ) -> None:
        self.size, self.min_count = size, min_count

    def train(self, texts: Iterable[str]) -> Tokenizer:
        """Counts characters."""
        return CountedTokenizer.train("characters", CUT, texts, self.size, self.min_count)

    @staticmethod
    def load(folder: Path) -> Tokenizer:
        """A saved one."""
        return CountedTokenizer.load("characters", CUT, folder)
