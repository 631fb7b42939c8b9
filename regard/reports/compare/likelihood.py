"""Language models in a comparison: metrics whose statistics, line by line, come from a model and not from texts."""

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from regard.errors import ConfigError
from regard.evaluation.metric import Corpus, Metric, Statistics
from regard.experiment import Experiment
from regard.tasks import TASKS

COLUMNS = ("nll", "pieces", "words", "characters")  # of a line: nats, and what they are divided by; its end is one


class Likelihood(Metric):
    """exp(nll / count), or with `bits` the bits of each."""

    higher_is_better = False

    def __init__(self, name: str, per: str, *, bits: bool = False) -> None:
        self.name, self.per, self.bits = name, per, bits  # type: ignore[misc]  # one class of several metrics

    def statistics(self, corpus: Corpus) -> Statistics:
        """No text tells how likely it is: see `likelihoods`."""
        raise ValueError("a likelihood is known by its model alone")

    def value(self, sums: Statistics) -> float:
        """The figure of a text with these sums (COLUMNS,)."""
        each = float(sums[0]) / max(1.0, float(sums[COLUMNS.index(self.per)]))
        return each / math.log(2) if self.bits else math.exp(min(each, 50.0))

    def signature(self, corpus: Corpus) -> str:
        """What is counted."""
        return f"per:{self.per}|line ends:counted"


LIKELIHOODS = (
    Likelihood("perplexity", "pieces"),
    Likelihood("word perplexity", "words"),
    Likelihood("bits per character", "characters", bits=True),
)


def knows_texts(experiment: Experiment) -> bool:
    """Whether it is of a language model."""
    task: Any = TASKS[experiment.task.name]
    return bool(task.continues)


def same_kind(experiments: list[Experiment]) -> None:
    """Raises ConfigError where language models are to be compared with others."""
    if len({knows_texts(one) for one in experiments}) > 1:
        raise ConfigError("task", "language models and translators have no figure in common", "compare each kind alone")


def likelihoods(model: Any, task: Any, lines: list[str], tokens: int) -> NDArray[np.float64]:
    """(line, COLUMNS): what a model finds of each line of a text."""
    with torch.inference_mode():
        found: NDArray[np.float64] = task.by_line(model, {task.columns[0]: lines}, tokens)
    counts = [[len(line.split()) + 1, len(line) + 1] for line in lines]
    return np.concatenate([found, np.array(counts, np.float64).reshape(-1, 2)], axis=1)
