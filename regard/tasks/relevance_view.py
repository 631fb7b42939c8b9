"""Relevance of words as it is shown: names of what it was asked of, and the shape of an explanation."""

from collections.abc import Sequence
from typing import cast

from regard.data.columns import Columns, TextColumn
from regard.explain.maps import POOLING
from regard.records import Batch
from regard.results import AttentionMap, Explanation, TokenRole, Tokens, WordRelevance


class RelevanceView:
    """The relevance of words for the answers of a task, given its columns, the last of which is what is predicted."""

    def __init__(self, columns: Columns, weighed: Sequence[str] = ()) -> None:
        """`weighed` are the columns whose words relevance is told of, where it is not of all."""
        self.columns, self.last, self.weighed = columns, [*columns][-1], weighed

    def items(self, batch: Batch, places: Sequence[int]) -> list[str]:
        """Return what a model's losses are of in the only example of a batch, at these places, as shown to a person."""
        answers = batch.sequences(self.last).items[0, [*places]].tolist()
        return cast(TextColumn, self.columns[self.last]).pieces(answers)

    def explanation(self, found: WordRelevance) -> Explanation:
        """Return the relevance of words in the shape of an explanation: of each text, what speaks for the answer."""
        columns = {name: Tokens(tokens, TokenRole.GIVEN) for name, tokens in found.tokens.items()}
        columns[self.last] = Tokens(found.items, TokenRole.LABEL)
        maps = [AttentionMap(found.by, POOLING, 0, [found.scaled(name)], "", name) for name in found.tokens]
        return Explanation(columns, [], maps, found.by)
