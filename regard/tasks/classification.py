"""Classification: one label of a closed set for a text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, cast

import numpy as np
from torch import Tensor

from regard.attention import Records, recording
from regard.data.columns import Columns, TextColumn
from regard.decoding import Engine, Hypothesis, Search
from regard.decoding.features import Feature
from regard.evaluation.metric import Statistics
from regard.explain.maps import attention_maps
from regard.models import Model
from regard.models.classifier import LABEL, TEXT, Classifier
from regard.pieces import END
from regard.records import Batch
from regard.registry import Choice
from regard.results import Explanation, LabelPrediction, Prediction
from regard.tasks.measures import Examples, Measure, Outcome
from regard.tasks.task import Task, Wording
from regard.tasks.text_predictions import rows_of


class ClassEngine:
    """Every class of a classifier, ranked."""

    width = 1

    def __init__(self, model: Classifier) -> None:
        self.model, self.max_source = model, model.max_source

    def answer(self, batch: Batch) -> list[list[Hypothesis]]:
        """Return all classes of each example, the likeliest first."""
        ranked = self.model.log_probs(batch).sort(dim=-1, descending=True, stable=True)
        rows = zip(ranked.values.tolist(), ranked.indices.tolist(), strict=True)
        return [
            [Hypothesis([label], score, [score], True) for score, label in zip(scores, labels, strict=True)]
            for scores, labels in rows
        ]


class Accuracy(Measure):
    """100 · right answers / examples."""

    key = name = "accuracy"
    higher_is_better = True

    def statistics(self, outcome: Outcome) -> Statistics:
        """Return (example, 2): whether the answer is right, and 1."""
        pairs = zip(outcome.answers, outcome.examples[LABEL], strict=True)
        return np.array([[str(answer).strip() == label.strip(), 1] for answer, label in pairs], np.float64)

    def value(self, sums: Statistics) -> float:
        """Return the share in per cent."""
        return 100 * float(sums[0]) / max(1.0, float(sums[1]))

    def signature(self, examples: Examples) -> str:
        """Return the number of classes."""
        return f"classes:{len({label.strip() for label in examples[LABEL]})}"


class ClassificationTask(Task):
    """A text → one label."""

    columns: ClassVar[Mapping[str, str]] = {TEXT: "text", LABEL: "label"}
    model = "classifier"
    contract = Classifier
    metric = "accuracy"
    validates = ("accuracy",)
    wording = Wording("texts", "words of the text", "classify texts")
    defaults: ClassVar[Mapping[str, Any]] = {"objective": {"name": "likelihood", "label_smoothing": 0.0}}

    def __init__(self, columns: Columns) -> None:
        super().__init__(columns)
        self.text = cast(TextColumn, columns[TEXT])

    def engine(self, model: Model, search: Search, features: Sequence[Feature] = ()) -> Engine:
        """Rank the classes; there is nothing to search."""
        return ClassEngine(cast(Classifier, model))

    def predict(self, engine: Engine, batch: Batch) -> list[Prediction]:
        """Return the likeliest label of each text, with the probability of every label."""
        found: list[Prediction] = []
        for ids, ranked in zip(rows_of(batch.sequences(TEXT)), engine.answer(batch), strict=True):
            labels = [self.vocabularies[LABEL].decode(one.ids) for one in ranked]
            probabilities = {label: float(np.exp(one.score)) for label, one in zip(labels, ranked, strict=True)}
            source = self.text.decode(ids[:-1])
            found.append(LabelPrediction(source, labels[0], ranked[0].score, probabilities=probabilities))
        return found

    def explain(self, model: Model, batch: Batch) -> list[Explanation]:
        """Return what the pooling, and each attention of the encoder, looked at."""
        with recording(model) as records:
            cast(Classifier, model).log_probs(batch)
        labels = cast(Tensor, batch.columns[LABEL]).tolist()
        found = []
        for row, (ids, label) in enumerate(zip(rows_of(batch.sequences(TEXT)), labels, strict=True)):
            pieces = [*self.text.pieces(ids[:-1]), END]
            label_pieces = [self.vocabularies[LABEL].decode([label]), END]
            maps = attention_maps(records, row, {TEXT: len(ids), LABEL: 1})
            found.append(Explanation(pieces, label_pieces, [], _pooled(records, row, len(ids)), maps))
        return found

    @classmethod
    def measures(cls, choices: Iterable[Choice]) -> list[Measure]:
        """Return the accuracy, whatever metrics of texts the settings name."""
        return [Accuracy()]

    @classmethod
    def metrics(cls) -> Iterator[str]:
        """None: an answer is right or wrong."""
        return iter(())


def _pooled(records: Records, row: int, length: int) -> list[list[float]]:
    """The weights (1, text) of the pooling of a text; [] where it looks at no single words."""
    for role, answers in records.values():
        weights = answers[-1].weights if answers else None
        if role.queries is None and role.keys == TEXT and weights is not None:
            shown: list[float] = weights[row].flatten(0, -2).mean(dim=0)[:length].float().tolist()
            return [shown, [0.0] * length]
    return []
