"""Kinds of answers: their predictions, how they are scored, calibrated and shown. One file a row.

>>> answer_of(prediction).lines(prediction)  # what a terminal shows of it
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from regard.answers.answer import Answer
from regard.answers.label import LabelAnswer, LabelPrediction
from regard.answers.labels import LabelsAnswer
from regard.answers.neighbours import NeighboursAnswer
from regard.answers.number import NumberAnswer
from regard.answers.numbers import NumbersAnswer
from regard.answers.span import SpanAnswer
from regard.answers.symbols import SymbolsAnswer
from regard.answers.tags import TagsAnswer
from regard.answers.text import CaptionAnswer, ContinuationAnswer, FillingAnswer, TextAnswer
from regard.lazy import at_first_use
from regard.results import Prediction

if TYPE_CHECKING:
    from regard.answers.terminal import render, show
else:  # who only predicts draws nothing
    __getattr__ = at_first_use(__name__, terminal="render, show")

ANSWERS: Mapping[str, Answer[Any]] = {
    "caption": CaptionAnswer(),
    "continuation": ContinuationAnswer(),
    "filling": FillingAnswer(),
    "label": LabelAnswer(),
    "labels": LabelsAnswer(),
    "neighbours": NeighboursAnswer(),
    "number": NumberAnswer(),
    "numbers": NumbersAnswer(),
    "span": SpanAnswer(),
    "symbols": SymbolsAnswer(),
    "tags": TagsAnswer(),
    "text": TextAnswer(),
}
_ROWS = {record: row for row in ANSWERS.values() for record in row.records}


def answer_of(prediction: Prediction) -> Answer[Any]:
    """Return the row of a prediction: of its record, or of the nearest one that it is a subclass of."""
    return next(_ROWS[kind] for kind in type(prediction).__mro__ if kind in _ROWS)


__all__ = ["ANSWERS", "Answer", "LabelPrediction", "answer_of", "render", "show"]
