"""Text of which pieces may be masked."""

from collections.abc import Iterable
from typing import Self

from regard.data.columns.text import TextColumn
from regard.errors import PartError
from regard.pieces import MASK_PIECE
from regard.registry import Choice
from regard.text import train_tokenizer


class MaskedTextColumn(TextColumn):
    """A text whose vocabulary is the tokenizer's, with <mask> added where it lacks it.

    Runs that start from such a run use the same vocabulary, so all embeddings fit.
    """

    @classmethod
    def learn(cls, values: Iterable[str], tokenizer: Choice) -> Self:
        return cls(train_tokenizer(tokenizer, map(cls.learnt_from, values), masked=True))


def mask_of(column: TextColumn) -> int:
    """Return the id of <mask>. Raises PartError where there is none, as in the vocabulary of a run of another task."""
    if column.tokenizer.mask is None:
        problem = f"the vocabulary of the run that this one starts from has no {MASK_PIECE}, so nothing can be masked"
        raise PartError(problem, "no --from, or the other way round: masked text first, then the other task from it")
    return column.tokenizer.mask
