"""Correlation of predicted numbers with the right ones, and errors of numbers."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import sqrt

import numpy as np

from regard.arrays import Floats
from regard.errors import RegardError
from regard.evaluation.metric import Corpus, Metric, Rate, Statistics
from regard.text.numbers import number_or_none


class CorrelationMetric(Metric, ABC):
    """The code that both correlations share: 100 · cov(x, y) / (std(x) · std(y)); 0 where all of one side are equal."""

    answer_kind = "number"

    @abstractmethod
    def values(self, numbers: Floats) -> Floats:
        """Return what is correlated of numbers (example,)."""

    def statistics(self, corpus: Corpus) -> Statistics:
        """[1, x, y, x², y², x·y] of each example, x and y from their means; of several references the first counts."""
        given, wanted = numbers_of(corpus.hypotheses), numbers_of([several[0] for several in corpus.references])
        x, y = (_centred(self.values(one)) for one in (given, wanted))
        return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)

    def value(self, sums: Statistics) -> float:
        n, x, y, xx, yy, xy = sums.tolist()
        spreads = n * xx - x * x, n * yy - y * y
        if spreads[0] <= _ROUNDING * n * xx or spreads[1] <= _ROUNDING * n * yy:
            return 0.0
        return 100 * (n * xy - x * y) / (sqrt(spreads[0]) * sqrt(spreads[1]))

    def signature(self, corpus: Corpus) -> str:
        return f"correlation:{self.name}"

    def check(self, references: Sequence[str]) -> None:
        numbers_of(references)


class PearsonCorrelation(CorrelationMetric):
    """100 · r of predicted and right numbers."""

    name = "pearson"

    def values(self, numbers: Floats) -> Floats:
        return numbers


class SpearmanCorrelation(CorrelationMetric):
    """100 · rho: Pearson's r of the ranks, equal numbers having their mean rank.

    In resamples numbers keep the ranks that they have among all, so that an interval is approximate.
    """

    name = "spearman"

    def values(self, numbers: Floats) -> Floats:
        """Return ranks from 1."""
        _, place, counts = np.unique(numbers, return_inverse=True, return_counts=True)
        ends = counts.cumsum()
        ranks: Floats = (ends - (counts - 1) / 2)[place]
        return ranks


class NumberError(Rate, ABC):
    """The code that errors of numbers share: means; of several references the nearest counts."""

    answer_kind = "number"
    higher_is_better = False
    factor = 1.0

    def signature(self, corpus: Corpus) -> str:
        return "unit:as given"

    def check(self, references: Sequence[str]) -> None:
        numbers_of(references)

    def statistics(self, corpus: Corpus) -> Statistics:
        """[error, 1] of each example."""
        given, most = numbers_of(corpus.hypotheses), max(map(len, corpus.references))
        columns = ([several[min(place, len(several) - 1)] for several in corpus.references] for place in range(most))
        errors = np.min([self.errors(given - numbers_of(column)) for column in columns], axis=0)
        return np.stack([errors, np.ones_like(errors)], axis=1)

    @abstractmethod
    def errors(self, differences: Floats) -> Floats:
        """Return the errors of predicted numbers minus the right ones (example,)."""


class MeanSquaredError(NumberError):
    """The mean of (predicted - right)²."""

    aliases = "mse"
    name = "mean squared error"

    def errors(self, differences: Floats) -> Floats:
        return differences**2


class MeanAbsoluteError(NumberError):
    """The mean of |predicted - right|."""

    aliases = "mae"
    name = "mean absolute error"

    def errors(self, differences: Floats) -> Floats:
        return np.abs(differences)


_ROUNDING = 1e-13  # of the sum of squares; a smaller variance is of rounding


def _centred(numbers: Floats) -> Floats:
    """Return numbers from their mean; zeros where they differ by rounding alone."""
    found: Floats = numbers - numbers.mean()
    rounding = 4 * np.finfo(np.float64).eps * np.abs(numbers).max()
    return found if np.ptp(numbers) > rounding else np.zeros_like(found)


def numbers_of(texts: Sequence[str]) -> Floats:
    """Return texts as numbers (text,). Raises RegardError for anything else."""
    found = []
    for line, text in enumerate(texts, start=1):
        number = number_or_none(text)
        if number is None:
            raise RegardError(f"evaluation: '{text:.60}' of line {line} is not a number; give one a line")
        found.append(number)
    return np.array(found, np.float64)
