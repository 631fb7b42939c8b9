"""Texts of examples and answers: lines to predict from, original texts, and answers that need no model."""

from collections.abc import Iterable, Mapping, Sequence

from regard.data.columns import Columns
from regard.data.examples import ColumnTexts
from regard.documents.document import Document
from regard.errors import ConfigError, DataError
from regard.results import Prediction, TextPrediction

Ids = Mapping[str, Sequence[int]]  # of one example, by column


class ExampleTexts:
    """Examples and predictions of a task as texts, given its columns, of which the last is predicted."""

    window = 1  # sentences that the answer to one of them depends on

    def __init__(self, columns: Columns) -> None:
        self.columns, self.last, self.inputs = columns, [*columns][-1], given_columns(columns)

    def given(self, text: str) -> ColumnTexts:
        """Return the example of a text to predict from; several columns are tab-separated.

        Raises DataError for another number of columns.
        """
        values = text.split("\t") if len(self.inputs) > 1 else [text]
        if len(values) != len(self.inputs):
            named = ", a tab, ".join(self.inputs)
            plural = "" if len(values) == 1 else "s"
            raise DataError("text", f"has {len(values)} field{plural}, and {len(self.inputs)} are read", hint=named)
        return dict(zip(self.inputs, values, strict=True))

    def scored(self, source: str, target: str) -> ColumnTexts:
        """Return an example with a given answer."""
        return {**self.given(source), self.last: target}

    def line(self, prediction: Prediction) -> str:
        """Return the line to predict from that gives this prediction again."""
        return prediction.source

    def answered(self, prediction: Prediction) -> Ids:
        """Return the ids of a prediction's example with its answer: the predicted pieces, where they are known.

        A text may be cut into pieces in several ways.
        """
        example = self.scored(prediction.source, prediction.text)
        written = prediction.ids if isinstance(prediction, TextPrediction) else None
        found = {name: one.encode(example[name]) for name, one in self.columns.items() if name in example}
        return found if written is None else {**found, self.last: written}

    def as_given(self, prediction: Prediction, example: ColumnTexts) -> Prediction:
        """Return a prediction with the example's original source, where columns do not keep all of a text."""
        return prediction

    def document(self, text: str, language: str | None) -> Document | None:
        """Return a text split into parts that are answered separately; None: it is answered as a whole."""
        return None

    def unasked(self, example: ColumnTexts) -> Prediction | None:
        """Return the answer to this example that needs no model, if there is one."""
        return None

    def unanswerable(self, example: ColumnTexts) -> Prediction | None:
        """Return a substitute, such as a copy, for an answer that the model cannot give."""
        return None

    def safeguarded(self, prediction: Prediction) -> Prediction:
        """Return an answer without known failures of models, such as loops."""
        return prediction

    def check_terms(self, option: str = "glossary") -> None:
        """Raise ConfigError where answers cannot be constrained to given words; `option` requests that."""
        raise ConfigError(option, "is for models that translate", "leave it out")


class NumbersTexts(ExampleTexts):
    """Rows of numbers as text."""

    def given(self, text: str) -> ColumnTexts:
        """Return the rows of a text. Raises DataError for a text that is not rows of numbers."""
        example = super().given(text)
        for name, value in example.items():
            self.columns[name].check(value)
        return example


def encodable(text: str) -> str:
    """Return a text that can be encoded: lone surrogates become question marks."""
    return text.encode(errors="replace").decode()


def given_columns(columns: Iterable[str]) -> tuple[str, ...]:
    """Return the columns that an answer is predicted from: all but the last, or the only one."""
    names = tuple(columns)
    return names[:-1] or names
