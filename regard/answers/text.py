"""Texts, which a search writes piece by piece."""

from abc import ABC
from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.answers.answer import Answer
from regard.explain.tokens import words_of
from regard.results import DocumentPrediction, Prediction, TextPrediction

if TYPE_CHECKING:
    from regard.data.columns import Column, TextColumn


class WrittenAnswer(Answer[TextPrediction], ABC):
    """Shared code of text answers, whatever their metrics."""

    form = "text"
    written = True

    def empty(self, columns: Sequence[str], line: str) -> Prediction | None:
        """Return None: a line of nothing may be a beginning."""
        return None

    def can_show(self, column: "Column") -> bool:
        return column.lossless or column.writes


class TextAnswer(WrittenAnswer):
    """A text beside references. Its items are pieces: right is what stays when it is made the right text."""

    name = "text"
    records = (TextPrediction, DocumentPrediction, Prediction)
    items = "pieces"

    def correct_items(self, prediction: TextPrediction, right: str, column: "TextColumn") -> list[bool]:
        """Return which pieces the right text has there, too: those that stay when it is made of this one."""
        ids = column.encode(prediction.text) if prediction.ids is None else prediction.ids
        return unedited(ids, column.encode(right))

    def word_items(self, prediction: TextPrediction, column: "TextColumn") -> list[list[int]]:
        """Return the pieces of each word."""
        return [word.pieces for word in words_of(column.pieces(prediction.ids or []))]


class CaptionAnswer(WrittenAnswer):
    """A text that describes numbers. It is scored as a whole: none of its pieces is right or wrong by itself."""

    name = "caption"


class ContinuationAnswer(WrittenAnswer):
    """A text that continues another one. It has no reference, so no metric scores it."""

    name = "continuation"

    def metrics(self) -> list[str]:
        return []


class FillingAnswer(ContinuationAnswer):
    """A text whose holes are filled."""

    name = "filling"

    def can_show(self, column: "Column") -> bool:
        """Return whether no word is lost; what was in lower case alone is filled in so."""
        return column.keeps_words


def unedited(ids: Sequence[int], reference: Sequence[int]) -> list[bool]:
    """Return which ids stay as they are when the fewest edits (insert, delete, substitute) make them the reference.

    Of several ways with as few edits it is one in which most ids stay.
    """
    edit = len(ids) + 1  # costs more than all ids that may stay give back
    costs = [[edit * place for place in range(len(reference) + 1)]]  # of the first ids → the first of the reference
    for row, one in enumerate(ids, start=1):
        above, line = costs[-1], [edit * row]
        for place, other in enumerate(reference, start=1):
            both = above[place - 1] + (-1 if one == other else edit)
            line.append(min(both, above[place] + edit, line[-1] + edit))
        costs.append(line)
    kept, row, place = [False] * len(ids), len(ids), len(reference)
    while row and place:
        same = ids[row - 1] == reference[place - 1]
        if costs[row][place] == costs[row - 1][place - 1] + (-1 if same else edit):
            row, place = row - 1, place - 1
            kept[row] = same
        elif costs[row][place] == costs[row - 1][place] + edit:
            row -= 1
        else:
            place -= 1
    return kept
