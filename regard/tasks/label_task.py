"""Base class of tasks whose answer is one label of a closed set."""

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
from torch import Tensor

from regard.answers import Answer
from regard.answers.label import LabelAnswer, LabelPrediction
from regard.data.columns import TextColumn
from regard.data.examples import ColumnTexts
from regard.data.readers.label_table import holds_pairs, holds_two_texts, label_field, label_layout
from regard.data.readers.tables import Fields, TableLayout
from regard.decoding import Answering
from regard.explain.maps import apart, attention_maps, mean_of_questions
from regard.models import LabelModel, Model
from regard.pieces import END, SPECIALS, UNK
from regard.records import Batch
from regard.results import ColumnLink, Explanation, Prediction, TokenRole, Tokens, as_line
from regard.tasks.example_texts import ExampleTexts, encodable
from regard.tasks.files import ExampleFiles
from regard.tasks.measures import LikelihoodMeasure, Measure
from regard.tasks.relevance_view import RelevanceView
from regard.tasks.spec import TaskSpec
from regard.tasks.task import Task
from regard.tasks.text_predictions import rows_of

EMPTY_TEXT = "the text is empty, so the label reflects only the label frequencies"
UNKNOWN_WORDS = "the model knows no word of the {name}, so the label is based on none"


class LabelTexts(ExampleTexts):
    """Texts with one label for all of them."""

    def as_given(self, prediction: Prediction, example: ColumnTexts) -> Prediction:
        source = as_line(encodable(example[name]) for name in self.inputs)
        return replace(prediction, source=source, warning=prediction.warning if source.strip() else EMPTY_TEXT)


class LabelRelevance(RelevanceView):
    """The relevance of words for a label, or for a number in standard deviations of the training set."""

    def items(self, batch: Batch, places: Sequence[int]) -> list[str]:
        return self.columns[self.last].values(cast(Tensor, batch.columns[self.last]))


class LabelFiles(ExampleFiles):
    """Tables whose label and text fields are detected from the rows; with `sets` of several labels a text."""

    def __init__(self, *, default: bool = False, sets: bool = False) -> None:
        super().__init__(default=default)
        self._sets = sets

    def layout(self, columns: Sequence[str], path: Path, kind: str, like: Fields | None = None) -> TableLayout | None:
        return label_layout(path, kind, tuple(columns), like, sets=self._sets)

    def task(self, path: Path, kind: str) -> str | None:
        if not path.is_file():
            return None
        return "translation" if holds_two_texts(path, kind) else "pairs" if holds_pairs(path, kind) else None

    def label_field(self, path: Path, kind: str) -> Any:
        return label_field(path, kind)


class LabelTask(Task, ABC):
    """Texts, one in each column but the last → the label in the last column."""

    spec = TaskSpec(
        "classifier",
        "accuracy",
        LabelModel,
        validates=("accuracy",),
        texts=LabelTexts,
        relevance=LabelRelevance,
        defaults={
            "objective": {"name": "likelihood", "label_smoothing": 0.0},
            "evaluation": {"metrics": ["accuracy", "f1"]},
        },
    )
    answer: ClassVar[Answer[Any]] = LabelAnswer()
    files: ClassVar[ExampleFiles] = LabelFiles()

    @classmethod
    def likelihoods(cls) -> list[Measure]:
        """Return the negative log-likelihood of the labels: a perplexity is of text."""
        return [LikelihoodMeasure("loss", "examples", unit="nats")]

    def predict(self, model: Answering, batch: Batch) -> list[Prediction]:
        """Return the likeliest label of each example, with the probability of every label."""
        ranked = cast(LabelModel, model).log_probs(batch).sort(dim=-1, descending=True, stable=True)
        answers = zip(ranked.values.tolist(), ranked.indices.tolist(), strict=True)
        found: list[Prediction] = []
        for source, unread, (scores, ids) in zip(self._sources(batch), self._unread(batch), answers, strict=True):
            labels = [self.vocabularies[self.last].decode([one]) for one in ids]
            probabilities = {label: float(np.exp(score)) for label, score in zip(labels, scores, strict=True)}
            warning = UNKNOWN_WORDS.format(name=unread) if unread else ""
            found.append(LabelPrediction(source, labels[0], scores[0], probabilities=probabilities, warning=warning))
        return found

    def explain(self, model: Model, batch: Batch) -> list[Explanation]:
        """Return the weights of the poolings and of each attention between words."""
        seen, units = cast(LabelModel, model).attention_records(batch)
        records = apart(seen, self.inputs)
        labels = self._answers(batch)
        ids = {name: rows_of(batch.sequences(name)) for name in self.inputs}
        explanations = []
        for row, label in enumerate(labels):
            columns = self._columns(
                {name: rows[row][:-1] for name, rows in ids.items()},
                {name: one.of(row) for name, one in units.items()},
                label,
            )
            maps = attention_maps(records, row, {name: len(one.texts) for name, one in columns.items()}, pooled=True)
            mean = mean_of_questions(maps, self.first) if len(self.inputs) == 1 else []
            links = [ColumnLink(self.first, self.last, [], [mean])] if mean else []
            explanations.append(Explanation(columns, links, maps))
        return explanations

    def _answers(self, batch: Batch) -> list[str]:
        """Return the given answer of each example."""
        return self.vocabularies[self.last].values(cast(Tensor, batch.columns[self.last]))

    def _columns(
        self, ids: Mapping[str, Sequence[int]], units: Mapping[str, Sequence[Sequence[int]]], answer: str
    ) -> dict[str, Tokens]:
        """Return the pieces of each text, the model's units of the first, and the answer."""
        texts = {name: [*self._text(name).pieces(some), END] for name, some in ids.items()}
        spelt = {name: self._spelt(ids[self.first], some) for name, some in units.items()}
        return {
            **{name: Tokens(one, TokenRole.GIVEN) for name, one in texts.items()},
            **{name: Tokens(one, TokenRole.DERIVED) for name, one in spelt.items()},
            self.last: Tokens([answer], TokenRole.LABEL),
        }

    def _spelt(self, ids: Sequence[int], units: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each unit of the first column, given its piece positions; END for the end symbol."""
        texts = [[ids[place] for place in places if place < len(ids)] for places in units]
        return [_spelt_out(self._text(self.first), one) or END for one in texts]

    def _sources(self, batch: Batch) -> list[str]:
        """Return the input of each example, its columns tab-separated."""
        columns = [
            [self._text(name).decode(ids[:-1]) for ids in rows_of(batch.sequences(name))] for name in self.inputs
        ]
        return [as_line(texts) for texts in zip(*columns, strict=True)]

    def _unread(self, batch: Batch) -> list[str]:
        """Return the first column of each example in which no piece is known; "" where there is none."""
        known = {name: map(self._text(name).knows, rows_of(batch.sequences(name))) for name in self.inputs}
        rows = zip(*known.values(), strict=True)
        return [next((name for name, one in zip(known, row, strict=True) if not one), "") for row in rows]

    def _text(self, name: str) -> TextColumn:
        return cast(TextColumn, self.vocabularies[name])


def _spelt_out(column: TextColumn, ids: Sequence[int]) -> str:
    """Return the text of some pieces, with <unk> in place of unknown ones."""
    runs = groupby(ids, key=lambda one: one == UNK)
    parts = [SPECIALS[UNK] if unknown else column.decode(list(run)).strip() for unknown, run in runs]
    return " ".join(filter(None, parts))
