"""Linear regression with Gaussian priors, its bands, and learning curves: a score by the number of pairs."""

from collections.abc import Sequence
from math import exp, log2, sqrt
from typing import NamedTuple

import numpy as np

from regard.arrays import Floats

BAND_SAMPLES = 4_000  # of normal numbers, by which bands of sums and maxima are found
CERTAIN = 1e9  # degrees of freedom of a spread that is known
HIGHEST = 100.0  # of BLEU and chrF
POWER_ODDS = 0.25  # of a power law beside a line: lines erred less where 2 to 16 times the pairs were known
LN2 = 0.6931471805599453


class Band(NamedTuple):
    """An expected figure: its median, and the ends of the middle 80 %."""

    low: float
    middle: float
    high: float

    @classmethod
    def of_samples(cls, samples: Floats) -> "Band":
        """Return the band of sampled figures (sample,)."""
        return cls(*np.percentile(samples, (10, 50, 90)).tolist())

    def holds(self, value: float) -> bool:
        """Return whether a figure is inside."""
        return self.low <= value <= self.high


class LinearFit(NamedTuple):
    """The posterior of coefficients (feature,), and the spread of the residuals."""

    coefficients: Floats
    covariance: Floats  # (feature, feature)
    spread: float  # standard deviation of a residual
    freedom: float = CERTAIN  # degrees of freedom by which the spread was estimated

    @classmethod
    def of(
        cls,
        rows: Sequence[Sequence[float]] | Floats,
        values: Sequence[float] | Floats,
        *,
        prior: Sequence[float],
        prior_spreads: Sequence[float],
        spread: float | None = None,
        weights: Sequence[float] | Floats | None = None,
        expected: tuple[float, float] = (0.0, 0.0),
    ) -> "LinearFit":
        """Fit values (row,) of features (row, feature), given means and standard deviations of a normal prior.

        `weights` are the counts of rows. Without `spread` it is estimated from the residuals; their number is reduced
        by that of the coefficients that the rows determine (Bishop 2006, equations 3.53, 3.54 and 3.91). `expected`
        is a prior spread, and the number of residuals that it counts as.
        """
        counts = np.ones(len(values)) if weights is None else np.asarray(weights)
        features = np.reshape(rows, (-1, len(prior))) * np.sqrt(counts)[:, None]
        known, means = np.asarray(values) * np.sqrt(counts), np.asarray(prior)
        precision = np.diag(1 / np.square(prior_spreads))
        noise = 1.0 if spread is None else spread
        for _ in range(1 if spread is not None else 20):
            evidence = features.T @ features / noise**2
            covariance = np.linalg.inv(evidence + precision)
            coefficients = covariance @ (features.T @ known / noise**2 + precision @ means)
            if spread is None:
                free = max(1.0, float(counts.sum() - np.trace(covariance @ evidence)))
                squares = float(np.square(known - features @ coefficients).sum()) + expected[1] * expected[0] ** 2
                noise = max(1e-6, sqrt(squares / (free + expected[1])))
        return cls(coefficients, covariance, noise, CERTAIN if spread is not None else free + expected[1])

    def mean(self, features: Sequence[float]) -> float:
        """Return the value to expect."""
        return float(np.dot(self.coefficients, features))

    def samples(self, features: Sequence[float], generator: np.random.Generator, count: int = BAND_SAMPLES) -> Floats:
        """Return sampled values (sample,), of Student's distribution since the spread is estimated."""
        return self.mean(features) + self.deviation(features) * generator.standard_t(self.freedom, count)

    def deviation(self, features: Sequence[float]) -> float:
        """Return the standard deviation of a value."""
        row = np.asarray(features)
        return sqrt(float(row @ self.covariance @ row) + self.spread**2)


class SlopePriors(NamedTuple):
    """Mean and standard deviation of the slope in each family of learning curves."""

    line: tuple[float, float]  # score for each doubling of the pairs
    power: tuple[float, float]  # exponent


class LearningCurve(NamedTuple):
    """A score by pairs: a + b · log2 pairs, or a · pairs ^ b, weighted by their fit to the measurements.

    https://aclanthology.org/P12-1003 compares such families for phrase-based translation.
    """

    line: LinearFit  # of [1, log2 pairs]; the score
    power: LinearFit  # of [1, log2 pairs]; the logarithm of the score
    power_weight: float  # probability of the power law

    @classmethod
    def of(
        cls, pairs: Sequence[int], scores: Sequence[float], errors: Sequence[float], priors: SlopePriors
    ) -> "LearningCurve":
        """Fit scores (size,), each with its standard error."""
        sizes = np.array([[1.0, log2(count)] for count in pairs])
        known, deviations = np.array(scores), np.array(errors)
        slope, spread = priors.power
        line, line_misfit = _weighted(sizes, known, deviations, priors.line)
        power, power_misfit = _weighted(sizes, np.log(known), deviations / known, (slope * LN2, spread * LN2))
        odds = POWER_ODDS * exp(max(-700.0, min(700.0, (line_misfit - power_misfit) / 2)))
        return cls(line, power, odds / (1 + odds))

    def samples(self, pairs: float, generator: np.random.Generator, count: int = BAND_SAMPLES) -> Floats:
        """Return sampled scores (sample,) of `pairs` pairs."""
        row = [1.0, log2(pairs)]
        lines, powers = self.line.samples(row, generator, count), np.exp(self.power.samples(row, generator, count))
        return np.clip(np.where(generator.random(count) < self.power_weight, powers, lines), 0.0, HIGHEST)

    def band(self, pairs: float) -> Band:
        """Return the band of the score of `pairs` pairs."""
        return Band.of_samples(self.samples(pairs, np.random.default_rng(1)))


def _weighted(rows: Floats, values: Floats, errors: Floats, slope: tuple[float, float]) -> tuple[LinearFit, float]:
    """Return the fit of values with known errors, and the sum of its squared residuals in errors."""
    scaled, known = rows / errors[:, None], values / errors
    fit = LinearFit.of(scaled, known, prior=(0.0, slope[0]), prior_spreads=(1e3, slope[1]), spread=1.0)
    return fit._replace(spread=0.0), float(np.square(known - scaled @ fit.coefficients).sum())
