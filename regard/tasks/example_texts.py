"""Texts of examples and answers: lines to predict from, texts as they were given, and answers that need no model."""

from collections.abc import Iterable, Mapping, Sequence

from regard.data.columns import Columns
from regard.data.examples import ColumnTexts
from regard.documents.document import Document
from regard.errors import ConfigError, DataError
from regard.results import Prediction, TextPrediction

Ids = Mapping[str, Sequence[int]]  # of one example, by column


class ExampleTexts:
    """Examples and predictions of a task as texts, given its columns, the last of which is what is predicted."""

    window = 1  # sentences of a text that an answer to one of them depends on

    def __init__(self, columns: Columns) -> None:
        self.columns, self.last, self.inputs = columns, [*columns][-1], given_columns(columns)

    def given(self, text: str) -> ColumnTexts:
        """Return the example that a text to predict from stands for: of several columns with tabs between them.

        Raises DataError for a text of more or fewer.
        """
        values = text.split("\t") if len(self.inputs) > 1 else [text]
        if len(values) != len(self.inputs):
            named = ", a tab, ".join(self.inputs)
            plural = "" if len(values) == 1 else "s"
            raise DataError("text", f"has {len(values)} field{plural}, and {len(self.inputs)} are read", hint=named)
        return dict(zip(self.inputs, values, strict=True))

    def scored(self, source: str, target: str) -> ColumnTexts:
        """Return the example whose answer is given."""
        return {**self.given(source), self.last: target}

    def line(self, prediction: Prediction) -> str:
        """Return the line that asks for a prediction again."""
        return prediction.source

    def answered(self, prediction: Prediction) -> Ids:
        """Return the ids of a prediction's example with its answer: the pieces that were written, where they are known.

        A text may be cut into pieces in several ways.
        """
        example = self.scored(prediction.source, prediction.text)
        written = prediction.ids if isinstance(prediction, TextPrediction) else None
        found = {name: self.columns[name].encode(text) for name, text in example.items()}
        return found if written is None else {**found, self.last: written}

    def as_given(self, prediction: Prediction, example: ColumnTexts) -> Prediction:
        """Return a prediction with its source as the example has it, where columns do not keep all of a text."""
        return prediction

    def document(self, text: str, language: str | None) -> Document | None:
        """Return a text split into what is answered one by one; None: it is answered as a whole."""
        return None

    def unasked(self, example: ColumnTexts) -> Prediction | None:
        """Return the answer that needs no model, if there is one for this example."""
        return None

    def unanswerable(self, example: ColumnTexts) -> Prediction | None:
        """Return what stands for the answer of an example that the model cannot answer, as a copy of it."""
        return None

    def safeguarded(self, prediction: Prediction) -> Prediction:
        """Return an answer without what a model may go astray with."""
        return prediction

    def check_terms(self, option: str = "glossary") -> None:
        """Raise ConfigError where answers cannot be made to hold given words; `option` is what asks for that."""
        raise ConfigError(option, "is for models that translate", "leave it out")


class NumbersTexts(ExampleTexts):
    """Rows of numbers as text."""

    def given(self, text: str) -> ColumnTexts:
        """Return the rows that a text stands for. Raises DataError for a text that is none."""
        example = super().given(text)
        for name, value in example.items():
            self.columns[name].check(value)
        return example


def encodable(text: str) -> str:
    """Return a text as a file can hold it: a question mark for each lone surrogate."""
    return text.encode(errors="replace").decode()


def given_columns(columns: Iterable[str]) -> tuple[str, ...]:
    """Return the columns that an answer is predicted from: all but the last, or the only one."""
    names = tuple(columns)
    return names[:-1] or names
