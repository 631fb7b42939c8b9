"""Metrics of a task: each a function of sums over examples, so that it has an interval and a p-value."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from regard.answers import Answer
from regard.evaluation import Metric
from regard.evaluation.metric import Corpus, Statistics, corpus_of
from regard.results import Prediction
from regard.tasks.examples import Examples

MOST_NATS = 50.0  # per piece; a larger loss has no meaningful perplexity


class Outcome:
    """A system's answers and losses for some examples, each computed when a measure first needs it."""

    def __init__(
        self, examples: Examples, answers: Callable[[], Sequence[Prediction]], losses: Callable[[], Statistics]
    ) -> None:
        """`losses` returns (example, 2): nats, and the number of items that they are summed over."""
        self.examples, self._answer, self._lose = examples, answers, losses

    @cached_property
    def answers(self) -> Sequence[Prediction]:
        """Return a prediction for each example."""
        return self._answer()

    @property
    def texts(self) -> list[str]:
        return [one.text for one in self.answers] if "answers" in vars(self) else []

    @cached_property
    def losses(self) -> Statistics:
        """Return (example, 2): nats, and the number of items that they are summed over."""
        return self._lose()


class Measure(ABC):
    """A metric computed from statistics that are summed over examples."""

    key: str  # as settings name it: bits_per_character
    name: str  # as tables name it: bits per character
    higher_is_better: bool | None  # None: neither, as for a length ratio

    @abstractmethod
    def statistics(self, outcome: Outcome) -> Statistics:
        """Return (example, statistic)."""

    @abstractmethod
    def value(self, sums: Statistics) -> float:
        """Return the metric of examples with these sums (statistic,)."""

    @abstractmethod
    def signature(self, examples: Examples) -> str:
        """Return all settings that the metric depends on, as `key:value|key:value`."""

    def comparable(self, one: Statistics, other: Statistics) -> bool:
        """Return whether the metrics of two systems count the same units, given (example, statistic) of each."""
        return True

    def check(self, examples: Examples) -> None:
        """Raise RegardError for examples that this measure cannot evaluate."""


class TextMeasure(Measure):
    """A metric of answers against references: a row of METRICS."""

    def __init__(self, key: str, metric: Metric, source: str, target: str, answer: Answer[Any]) -> None:
        """`source` and `target` are the columns of the input, which may be missing, and of the references."""
        self.key, self.name, self.higher_is_better = key, metric.name, metric.higher_is_better
        self.metric, self.source, self.target, self.answer = metric, source, target, answer

    def statistics(self, outcome: Outcome) -> Statistics:
        answers = outcome.answers
        corpus = self._corpus([one.text for one in answers], outcome.examples)
        scores, probabilities = tuple(one.score for one in answers), tuple(one.label_probabilities() for one in answers)
        return self.metric.statistics(corpus._replace(scores=scores, probabilities=probabilities))

    def value(self, sums: Statistics) -> float:
        return self.metric.value(sums)

    def signature(self, examples: Examples) -> str:
        return self.metric.signature(self._corpus(examples[self.target], examples))

    def check(self, examples: Examples) -> None:
        self.metric.check(examples[self.target])

    def _corpus(self, texts: Sequence[str], examples: Examples) -> Corpus:
        return corpus_of(texts, [*map(self.answer.references, examples[self.target])], examples.get(self.source))


class LikelihoodMeasure(Measure):
    """Perplexity exp(nats / count), or nats or bits per item, of given examples."""

    higher_is_better = False

    def __init__(
        self,
        key: str,
        per: str = "pieces",
        counts: Callable[[Examples], Statistics] | None = None,
        unit: str = "perplexity",
    ) -> None:
        """`counts` returns the divisor (example,); None: the items that have a loss.

        `unit` is "perplexity", "nats" or "bits".
        """
        self.key, self.name, self.per = key, key.replace("_", " "), per
        self.counts, self.unit = counts, unit

    def statistics(self, outcome: Outcome) -> Statistics:
        losses = outcome.losses
        return losses if self.counts is None else np.stack([losses[:, 0], self.counts(outcome.examples)], axis=1)

    def value(self, sums: Statistics) -> float:
        each = float(sums[0]) / max(1.0, float(sums[1]))
        if self.unit == "perplexity":
            return math.exp(min(each, MOST_NATS))
        return each / math.log(2) if self.unit == "bits" else each

    def signature(self, examples: Examples) -> str:
        return f"per:{self.per}|line ends:counted"

    def comparable(self, one: Statistics, other: Statistics) -> bool:
        """Return whether both divide by the same counts: longer pieces raise perplexity for any model."""
        return bool(np.array_equal(one[:, 1], other[:, 1]))
