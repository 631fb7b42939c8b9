"""One piece per character."""

from typing import Annotated

from regard.config import Doc
from regard.config.bounds import Pieces
from regard.text.counted import CountedRecipe, Cut, Fewest


class CharactersRecipe(CountedRecipe):
    """Characters (code points after NFC), the most frequent `size` of them; rarer ones are spelt in bytes."""

    kind, cut = "characters", Cut(list)

    def __init__(
        self,
        *,
        size: Annotated[Pieces, Doc("Maximum vocabulary size, in characters; rarer ones become bytes.")] = 4000,
        min_count: Fewest = 1,
    ) -> None:
        super().__init__(size, min_count)
