"""Regression: a number for a text, or for two texts, such as how related they are."""

from abc import ABC
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, cast

from regard.answers.number import NumberAnswer, NumberPrediction
from regard.config import lay
from regard.data.columns.number import NumberColumn
from regard.data.readers.label_table import number_layout
from regard.data.readers.tables import Fields, TableLayout
from regard.decoding import Answering
from regard.models import LabelModel
from regard.records import FIRST, ONE_NUMBER, SECOND, TEXT, Batch
from regard.results import Prediction
from regard.tasks.classification import ClassificationTask, OneTextTask
from regard.tasks.files import ExampleFiles
from regard.tasks.label_task import UNKNOWN_WORDS, LabelTask
from regard.tasks.pairs import PairsTask
from regard.tasks.spec import TaskSpec

_METRICS = ["pearson", "spearman", "mean_squared_error", "mean_absolute_error"]
_RANDOM_START = {"model": {"naive_bayes_start": False}}  # naive Bayes has no numbers


class NumberFiles(ExampleFiles):
    """Tables whose number and text fields are detected from the rows."""

    def layout(self, columns: Sequence[str], path: Path, kind: str, like: Fields | None = None) -> TableLayout | None:
        return number_layout(path, kind, columns, like)


class NumberTask(LabelTask, ABC):
    """Texts → a number: the mean squared error of standardised numbers is what is minimised."""

    answer = NumberAnswer()
    files = NumberFiles()

    def predict(self, model: Answering, batch: Batch) -> list[Prediction]:
        """Return the number of each example."""
        numbers = cast(LabelModel, model).log_probs(batch).double().squeeze(-1).tolist()
        column, found = cast(NumberColumn, self.vocabularies[self.last]), list[Prediction]()
        for source, unread, one in zip(self._sources(batch), self._unread(batch), numbers, strict=True):
            warning = UNKNOWN_WORDS.format(name=unread).replace("label", "number") if unread else ""
            found.append(NumberPrediction(source, column.text(one), 0.0, number=column.number(one), warning=warning))
        return found


def _of_numbers(spec: TaskSpec, examples: str) -> TaskSpec:
    """Return the spec of a task of labels for numbers."""
    wording = spec.wording._replace(examples=examples, speed=f"score {examples}")
    defaults = {**spec.defaults, "evaluation": {"metrics": _METRICS}}
    network = lay(spec.default_network, _RANDOM_START) if spec.default_network else {}
    return spec._replace(
        metric="pearson", validates=("pearson",), wording=wording, defaults=defaults, default_network=network
    )


class RegressionTask(NumberTask, OneTextTask):
    """A text → a number."""

    columns: ClassVar[Mapping[str, str]] = {TEXT: "text", ONE_NUMBER: "number"}
    spec = _of_numbers(ClassificationTask.spec, "texts")


class PairRegressionTask(NumberTask):
    """Two texts → a number. To predict, a line is both texts, tab-separated."""

    columns: ClassVar[Mapping[str, str]] = {FIRST: "text", SECOND: "text", ONE_NUMBER: "number"}
    spec = _of_numbers(PairsTask.spec, "pairs")
