"""The contract of tasks: examples in columns → batches, predictions and figures."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self, cast

import numpy as np
import torch

from regard.answers import Answer
from regard.answers.text import TextAnswer
from regard.data import Corpus
from regard.data.batches import Batches
from regard.data.columns import Column, Columns, of_language
from regard.data.packing import chunks
from regard.data.streams import PlannedStream, Stream
from regard.decoding import Answering, Search, SearchEngine
from regard.decoding.features import Feature
from regard.errors import ConfigError, DataError, nearest
from regard.evaluation import METRICS
from regard.evaluation.metric import Statistics
from regard.explain.alignment import AlignmentHead
from regard.models import ROUTE, Generator, Model
from regard.records import Batch
from regard.registry import Choice
from regard.results import Explanation, Prediction
from regard.tasks.example_filter import ExampleFilter
from regard.tasks.example_texts import ExampleTexts, Ids, given_columns
from regard.tasks.examples import Examples, as_rows, count_of
from regard.tasks.files import ExampleFiles
from regard.tasks.measures import LikelihoodMeasure, Measure, Outcome, TextMeasure
from regard.tasks.relevance_view import RelevanceView
from regard.tasks.spec import TaskSpec


class Task(ABC):
    """Columns of examples, predictions and their evaluation. A row of TASKS.

    Built with its learnt columns. The first column is the input; the last is predicted.
    """

    columns: ClassVar[Mapping[str, str]]  # name → row of COLUMNS
    spec: ClassVar[TaskSpec]
    answer: ClassVar[Answer[Any]] = TextAnswer()
    files: ClassVar[ExampleFiles] = ExampleFiles()

    def __init__(self, columns: Columns) -> None:
        self.learnt = columns  # with those that languages have of their own
        self.vocabularies, self.route = self._of_language(None), ROUTE
        self.alignment_head: AlignmentHead | None = None  # source of word links; None: the decoder's own alignment
        self.inputs = given_columns(self.columns)
        self.first, self.last = self.inputs[0], [*self.columns][-1]
        if not all(map(self.answer.can_show, columns.values())):
            problem = "keeps neither case nor rare words, and this task needs both in its answers"
            raise ConfigError("text.tokenizer", problem, "subwords or words, in a run to start from, too")

    def along(self, route: str, alignment_head: AlignmentHead | None = None) -> Self:
        """Return the same task for batches of one route of its model, in the vocabularies of its language.

        An `alignment_head` belongs to a route: the one given here, or none.
        """
        found = copy.copy(self)
        found.vocabularies, found.route, found.alignment_head = self._of_language(route), route, alignment_head
        return found

    def _of_language(self, language: str | None) -> dict[str, Column]:
        """Return the columns in order, with a language's own vocabularies where it has any."""
        found = of_language(self.learnt, language)
        return {name: found[name] for name in self.columns if name in found}

    # parts

    @property
    def texts(self) -> ExampleTexts:
        """Return the examples and answers as texts."""
        return self.spec.texts(self.vocabularies)

    @property
    def filter(self) -> ExampleFilter:
        """Return the filter of examples for training, validation and evaluation."""
        return self.spec.filter(self.vocabularies)

    @property
    def relevance(self) -> RelevanceView:
        """Return the display of the relevance of words."""
        return self.spec.relevance(self.vocabularies)

    # answers

    @abstractmethod
    def predict(self, model: Answering, batch: Batch) -> list[Prediction]:
        """Return one prediction per example, in the batch's order.

        Where texts are generated, `model` is an engine: a search over a model, or another program.
        """

    @abstractmethod
    def explain(self, model: Model, batch: Batch) -> list[Explanation]:
        """Return the attention weights of each example of the batch with its answer."""

    def engine(self, model: Model, search: Search, features: Sequence[Feature] = ()) -> Answering:
        """Return the engine that answers batches: a search over a generating model, or the model itself."""
        if not self.answer.written:
            return model
        first = self.vocabularies[self.last].first
        return SearchEngine(cast(Generator, model), search.beginning(first) if first else search, features)

    def fit(self, model: Model, batches: Stream, examples: Examples | None, say: Callable[[str], None]) -> None:
        """Fit parameters that are counted, not learnt by gradient, before the first update; `examples`: the dev set."""

    def force(self, model: Model, batch: Batch) -> list[Prediction]:
        """Return the given answers as predictions: their score is their log-probability, in nats."""
        raise ConfigError("task", "has no answers that can be forced", "predict instead")

    # examples → batches

    def encode(self, examples: Sequence[Mapping[str, str]]) -> list[Ids]:
        """Return the ids of every column that examples have; all must have the same."""
        names = [name for name in self.columns if examples and name in examples[0]]
        encoded = [self.vocabularies[name].encode_batch([one[name] for one in examples]) for name in names]
        return [dict(zip(names, ids, strict=True)) for ids in zip(*encoded, strict=True)]

    def batch(self, rows: Sequence[Ids]) -> Batch:
        """Return encoded examples as a batch; `lines` count from 0."""
        names = [name for name in self.columns if rows and name in rows[0]]
        columns = {name: self.vocabularies[name].collate([row[name] for row in rows]) for name in names}
        answers: Any = columns.get(self.last)
        count = 0 if answers is None else len(rows) if isinstance(answers, torch.Tensor) else int(answers.mask.sum())
        return Batch(columns, self.route, torch.arange(len(rows)), count)

    def held(self, examples: Examples, tokens: int) -> list[Batch]:
        """Return examples to evaluate on, in batches of at most `tokens` tokens, long ones first.

        `lines` are their places among the examples.
        """
        rows = self.encode(as_rows(examples))
        lengths = [max(map(len, row.values())) + 1 for row in rows]
        found = [(places, self.batch([rows[place] for place in places])) for places in chunks(lengths, tokens)]
        return [batch._replace(lines=torch.from_numpy(places)) for places, batch in found]

    # training data

    def stream(
        self, corpus: Corpus, tokens: int | None = None, sentences: int | None = None, *, seed: int
    ) -> PlannedStream:
        """Return the corpus as endless training batches, of at most `tokens` tokens and `sentences` sentences."""
        return self._batches(corpus, tokens, sentences, seed)

    def _batches(
        self, corpus: Corpus, tokens: int | None, sentences: int | None, seed: int, together: str | None = None
    ) -> Batches:
        """Return the corpus as batches; equal values of the column `together` share one, as far as they fit."""
        joins = {name: column.join for name, column in self.vocabularies.items()}
        counted = self.answer.counted(self.columns)
        return Batches(
            corpus,
            tuple(self.columns),
            self.vocabularies,
            joins=joins,
            route=self.route,
            tokens=tokens,
            sentences=sentences,
            seed=seed,
            together=together,
            read=() if self.last in counted else counted,
        )

    # metrics

    @classmethod
    def measures(cls, choices: Iterable[Choice]) -> list[Measure]:
        """Return the measures of finished models: metrics of the answers, by their names in settings.

        Raises ConfigError for a metric of other tasks.
        """
        source, *_, target = *given_columns(cls.columns), [*cls.columns][-1]
        known = cls.answer.metrics()
        for one in choices:
            if one.name not in known:
                problem = f"'{one.name}' is not a metric of this task's answers"
                raise ConfigError("evaluation.metrics", problem, f"evaluation.metrics=[{','.join(known)}]")
        return [TextMeasure(one.name, METRICS.build(one), source, target, cls.answer) for one in choices]

    @classmethod
    def likelihoods(cls) -> list[Measure]:
        """Return the measures of the likelihood of given examples, which every validation reports."""
        return [LikelihoodMeasure("loss", unit="nats"), LikelihoodMeasure("perplexity")]

    def losses(self, model: Model, batches: Iterable[Batch], examples: Examples) -> Statistics:
        """Return (example, 2): nats of each, and the number of their items; `batches` are those of `held`."""
        found = np.zeros((count_of(examples), 2))
        for batch in batches:
            nats = model.nll(batch).double().flatten(1).sum(dim=-1)
            counts = model.counted(batch).flatten(1).sum(dim=-1)
            found[batch.lines.cpu().numpy()] = torch.stack([nats, counts], dim=-1).cpu().numpy()
        return found


def measure_of(task: type[Task] | Task, key: str) -> Measure:
    """Return the measure of a key, for early stopping. Raises ConfigError for an unknown one, or one without order."""
    chosen = [Choice(name) for name in task.answer.metrics() if name == key]
    known = {one.key: one for one in [*task.likelihoods(), *task.measures(chosen)]}
    if key not in known:
        raise ConfigError("training.metric", f"there is no '{key}'", nearest(key, [*known, *task.answer.metrics()]))
    measure = known[key]
    if measure.higher_is_better is None:
        problem = f"'{key}' cannot rank models: neither higher nor lower is better"
        raise ConfigError("training.metric", problem, task.spec.metric)
    return measure


def usage_of(task: type[Task], run: str) -> str:
    """Return the use of a trained model and its command; `run` is its folder."""
    given = [*task.columns][:-1]
    several = f" (per line: {', a tab, '.join(given)})" if len(given) > 1 else ""
    return task.spec.wording.use.format(run=run, line=several)


def outcome_of(
    task: Task,
    model: Model,
    engine: Answering,
    examples: Examples,
    tokens: int,
    stop: Callable[[], None] = lambda: None,
) -> Outcome:
    """Return the answers and losses of a model for examples, in batches of at most `tokens` tokens.

    `stop` is called before each batch; an exception that it raises ends the work. An example whose reference the model
    cannot predict, such as an unseen label, has an answer, but no loss.
    """
    device, rows = model.device, as_rows(examples)
    known = {place: row for place, one in enumerate(rows) if (row := _known(task, one)) is not None}
    whole = [*known.values()] == rows

    def batches(some: Examples) -> Iterator[Batch]:
        for batch in task.held(some, tokens):
            stop()
            yield batch.to(device)

    def answers() -> list[Prediction]:
        found: dict[int, Prediction] = {}
        with torch.inference_mode():
            for batch in batches(examples if whole else {name: examples[name] for name in task.inputs}):
                found |= zip(batch.lines.tolist(), task.predict(engine, batch), strict=True)
        return [found[place] for place in range(len(found))]

    def losses() -> Statistics:
        with torch.inference_mode():
            if whole:
                return task.losses(model, batches(examples), examples)
            found, some = np.zeros((len(rows), 2)), {name: [row[name] for row in known.values()] for name in examples}
            if known:
                found[[*known]] = task.losses(model, batches(some), some)
            return found

    return Outcome(examples, answers, losses)


def _known(task: Task, example: Mapping[str, str]) -> Mapping[str, str] | None:
    """Return an example with a reference that the model can predict; None where it has none."""
    found = task.filter.learnt_from(example) if all(name in example for name in task.columns) else example
    try:
        if found is not None:
            task.filter.check(found)
    except DataError:
        return None
    return found
