"""Text of which pieces may be masked."""

from collections.abc import Iterable
from typing import Self

from regard.data.columns.text import TextColumn
from regard.registry import Choice
from regard.text import MaskedTokenizer, train_tokenizer


class MaskedTextColumn(TextColumn):
    """A text whose vocabulary has one piece more than the tokenizer learns, <mask>, unless that has it.

    Whatever starts from such a run reads its texts with the same vocabulary, so all tables fit.
    """

    @classmethod
    def learn(cls, values: Iterable[str], tokenizer: Choice) -> Self:
        """Learn a tokenizer from the texts and reserve the piece."""
        learnt = train_tokenizer(tokenizer, map(cls.learnt_from, values))
        return cls(MaskedTokenizer(learnt) if learnt.mask is None else learnt)
