"""The two kinds of systems that are compared: how a run of each is judged, and what tables call it."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from regard.errors import ConfigError
from regard.evaluation import METRICS
from regard.evaluation.metric import Measure, Metric, corpus_of
from regard.experiment import Experiment
from regard.predictor import Predictor
from regard.registry import Choice
from regard.reports.compare.likelihood import LIKELIHOODS
from regard.reports.timing import Spent, timed
from regard.runs.texts import Pairs
from regard.tasks import TASKS


class Judged(NamedTuple):
    """What a trained run makes of the test part."""

    texts: list[str]  # none of a model that only reads
    tables: list[NDArray[np.float64]]  # metric by metric: (sentence, statistic)
    spent: Spent


class Kind(NamedTuple):
    """Translators, or language models."""

    sentences: str  # what the test part is made of
    length: str  # what the table by length goes by
    speed: str  # of a finished model, without the unit of time
    links: bool  # whether it may be asked which words it links
    metrics: Callable[[Sequence[Choice]], Sequence[Measure]]
    judged: Callable[[Predictor, Pairs, Sequence[Choice]], Judged]


def kind_of(experiment: Experiment) -> Kind:
    """Of the systems that an experiment trains."""
    task: Any = TASKS[experiment.task.name]
    return LANGUAGE_MODELS if task.continues else TRANSLATORS


def same_kind(experiments: list[Experiment]) -> None:
    """Raises ConfigError where language models are to be compared with others."""
    if len({kind_of(one) for one in experiments}) > 1:
        raise ConfigError("task", "language models and translators have no figure in common", "compare each kind alone")


def _built(choices: Sequence[Choice]) -> list[Metric]:
    return [METRICS.build(choice) for choice in choices]


def _translated(predictor: Predictor, test: Pairs, choices: Sequence[Choice]) -> Judged:
    """Translations of the test part, their statistics for each metric."""
    texts, spent = timed(lambda some: [one.text for one in predictor.predict(some)], test.sources)
    corpus = corpus_of(texts, test.targets, test.sources)
    return Judged(texts, [metric.statistics(corpus) for metric in _built(choices)], spent)


def _read(predictor: Predictor, test: Pairs, choices: Sequence[Choice]) -> Judged:
    """How likely each line of the test part is."""
    task: Any = predictor.task

    def read(lines: Sequence[str]) -> NDArray[np.float64]:
        with torch.inference_mode():
            found: NDArray[np.float64] = task.by_line(predictor.model, {task.columns[0]: lines}, predictor.batch_tokens)
        return found

    table, spent = timed(read, test.targets)
    return Judged([], [table] * len(LIKELIHOODS), spent)


TRANSLATORS = Kind("sentences", "words of the source", "decode sentences", True, _built, _translated)
LANGUAGE_MODELS = Kind("lines", "words of the line", "read lines", False, lambda choices: LIKELIHOODS, _read)
