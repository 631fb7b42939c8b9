"""Display of relevance: names of the explained items, and the form of an explanation."""

from collections.abc import Sequence
from typing import cast

from regard.data.columns import Columns, TextColumn
from regard.explain.maps import POOLING
from regard.records import Batch
from regard.results import AttentionMap, Explanation, TokenRole, Tokens, WordRelevance


class RelevanceView:
    """The relevance of words for the answers of a task, given its columns, of which the last is predicted."""

    def __init__(self, columns: Columns, weighted: Sequence[str] = ()) -> None:
        """`weighed` are the columns whose words have a relevance, where not all have one."""
        self.columns, self.last, self.weighted = columns, [*columns][-1], weighted

    def items(self, batch: Batch, places: Sequence[int]) -> list[str]:
        """Return display names of the items of a model's losses, at these places of the only example of a batch."""
        answers = batch.sequences(self.last).items[0, [*places]].tolist()
        return cast(TextColumn, self.columns[self.last]).pieces(answers)

    def explanation(self, found: WordRelevance) -> Explanation:
        """Return the relevance of words as an explanation: for each text, the positive attribution to the answer."""
        columns = {name: Tokens(tokens, TokenRole.GIVEN) for name, tokens in found.tokens.items()}
        columns[self.last] = Tokens(found.items, TokenRole.LABEL)
        maps = [AttentionMap(found.method, POOLING, 0, [found.scaled(name)], "", name) for name in found.tokens]
        return Explanation(columns, [], maps, found.method)
