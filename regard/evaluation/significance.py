"""Paired bootstrap resampling (https://aclanthology.org/W04-3250) and paired randomization tests."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.errors import ConfigError
from regard.evaluation.metric import Measure, Metric, References, Score, Statistics, corpus_of

_ROUNDING = 1e-9  # of a difference beside the largest: smaller ones are of rounding


class McNemar(NamedTuple):
    """Exact test of the examples that one of two systems alone has right (https://doi.org/10.1007/BF02295996)."""

    only_a: int  # examples that the first alone has right
    only_b: int
    p_value: float  # two-sided, of a fair coin: of as uneven a split, or a more uneven one

    def __str__(self) -> str:
        return f"McNemar: right alone {self.only_a:,} and {self.only_b:,}, p = {self.p_value:.3g}"

    def values(self) -> dict[str, float]:
        """Return JSON values."""
        return self._asdict()


def mcnemar(a: Statistics, b: Statistics) -> McNemar | None:
    """Return the test of two tables (example, 2) of [1 if right, 1]; None where they count something else."""
    tables = np.stack([a, b]) if a.shape == b.shape else np.zeros((0, 0))
    if tables.ndim != 3 or tables.shape[2] != 2 or not _are_outcomes(tables):
        return None
    ours, theirs = tables[:, :, 0] == 1
    only_a, only_b = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
    return McNemar(only_a, only_b, _fair_coin(only_a, only_b))


def wilcoxon(differences: Sequence[float]) -> float:
    """Return the two-sided p-value of the signed-rank test (https://doi.org/10.2307/3001968), exact for any count.

    Zeros are left out, equal sizes share the mean of their ranks: of all signs of the differences as many count as
    have a sum of ranks as far from its mean as the observed one. 1 where nothing differs; at least 2 / 2^differences.
    """
    found = np.asarray(differences, np.float64)
    largest = np.abs(found).max(initial=0.0)
    found = found[np.abs(found) > _ROUNDING * largest]
    ranks = _doubled_ranks(np.abs(found), _ROUNDING * largest)
    ways = [1]  # of each doubled sum of ranks, over all signs
    for rank in ranks:
        ways = [one + other for one, other in zip([*ways, *[0] * rank], [*[0] * rank, *ways], strict=True)]
    observed = sum(rank for rank, one in zip(ranks, found, strict=True) if one > 0)
    tail = min(sum(ways[: observed + 1]), sum(ways[observed:]))
    return min(1.0, 2 * tail / sum(ways))


def _are_outcomes(tables: Statistics) -> bool:
    """Return whether each row is one answer, right or wrong."""
    return bool((tables[:, :, 1] == 1).all() and np.isin(tables[:, :, 0], (0, 1)).all())


def _fair_coin(one: int, other: int) -> float:
    """Return the two-sided p-value of two counts that are as likely to grow."""
    count, ways, total = one + other, 1, 0
    for heads in range(min(one, other) + 1):
        total += ways
        ways = ways * (count - heads) // (heads + 1)
    return min(1.0, 2 * total / 2**count)


def _doubled_ranks(sizes: Statistics, equal: float) -> list[int]:
    """Return twice the rank of each size, from 1; equal sizes have the mean of theirs."""
    below = (sizes[None] < sizes[:, None] - equal).sum(axis=1)
    same = (np.abs(sizes[None] - sizes[:, None]) <= equal).sum(axis=1)
    doubled: list[int] = (2 * below + same + 1).tolist()
    return doubled


RESAMPLING_SEED = 12345  # that of sacrebleu, so the resamples are the same
RESAMPLES = 1000
EXCHANGES = 2048  # samples of a randomization test; all exchanges of up to 11 texts
_EQUAL = 1e-9  # standard deviations; a smaller difference is one of rounding
TAIL = 2.5  # per cent left out at each end of an interval
BLOCK_SIZE = 2**16  # sampled sentences


class Interval(NamedTuple):
    """The middle 95 % of the resampled figures."""

    low: float
    high: float


class SignificanceTest(NamedTuple):
    """Two systems on the same sentences."""

    a: Score
    b: Score
    difference: float  # b - a
    interval: Interval  # of the difference
    p_value: float  # two-sided: how often resampling would turn the difference round, or make it vanish
    mcnemar: McNemar | None = None  # of answers that are right or wrong

    def __str__(self) -> str:
        low, high = self.interval
        figures = f"{self.a.value:.2f} → {self.b.value:.2f}, difference {self.difference:+.2f}"
        exact = "" if self.mcnemar is None else f"; {self.mcnemar}"
        return f"{self.a.name}: {figures} (95 %: {low:+.2f} to {high:+.2f}), p = {self.p_value:.3g}{exact}"


def paired_bootstrap(
    metric: Metric,
    hypotheses_a: Sequence[str],
    hypotheses_b: Sequence[str],
    references: References,
    sources: Sequence[str] | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = RESAMPLING_SEED,
) -> SignificanceTest:
    """Return the significance of the difference between two systems.

    Sentences are sampled with replacement, the same ones for both; d* is the difference of the figures of a sample.
    p = min(1, 2 · min((#{d* <= 0} + 1), (#{d* >= 0} + 1)) / (resamples + 1)): below 0.05 where the 95 % interval leaves
    out zero. Identical systems have p = 1; the smallest possible value is 2 / (resamples + 1).
    """
    corpora = [corpus_of(hypotheses, references, sources) for hypotheses in (hypotheses_a, hypotheses_b)]
    a, b = (metric.statistics(corpus) for corpus in corpora)
    signature = metric.signature(corpora[0])
    return compare_statistics(metric, a, b, signature, resamples=resamples, seed=seed)


def compare_statistics(
    measure: Measure,
    statistics_a: Statistics,
    statistics_b: Statistics,
    signature: str,
    *,
    resamples: int = RESAMPLES,
    seed: int = RESAMPLING_SEED,
) -> SignificanceTest:
    """`paired_bootstrap` for two systems whose statistics (sentence, statistic) are known."""
    statistics = np.stack([statistics_a, statistics_b])
    a, b = (
        Score(measure.name, measure.value(sums), signature, measure.higher_is_better) for sums in statistics.sum(axis=1)
    )
    figures = resampled(measure, statistics, resamples=resamples, seed=seed)
    differences = figures[:, 1] - figures[:, 0]
    exact = mcnemar(statistics_a, statistics_b) if measure.higher_is_better else None  # ones of a loss are wrong
    return SignificanceTest(a, b, b.value - a.value, percentile_interval(differences), two_sided(differences), exact)


def interval_of(
    measure: Measure, statistics: Statistics, *, resamples: int = RESAMPLES, seed: int = RESAMPLING_SEED
) -> Interval:
    """Between which figures 95 % of the resampled test sets lie, given statistics (sentence, statistic)."""
    return percentile_interval(resampled(measure, statistics[None], resamples=resamples, seed=seed)[:, 0])


def confidence_interval(
    metric: Metric,
    hypotheses: Sequence[str],
    references: References,
    sources: Sequence[str] | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = RESAMPLING_SEED,
) -> Interval:
    """Between which figures 95 % of the resampled test sets lie."""
    statistics = metric.statistics(corpus_of(hypotheses, references, sources))
    return interval_of(metric, statistics, resamples=resamples, seed=seed)


def gain_p_values(measure: Measure, start: Statistics, steps: Sequence[Statistics]) -> list[float]:
    """Return the one-sided p-value of the gain of each step of a training over its start, by a randomization test.

    The start and the steps are exchanged in texts at random, in a text for all steps alike. Each gain is divided by its
    standard deviation over the exchanges; p of a step is how often the largest of all steps is at least its own. So a
    step may be selected by the same texts: p accounts for the number of steps (the maximum of Westfall and Young).
    Up to 11 texts have all their exchanges counted, so that p is exact; the smallest possible value is 1 / 2^texts.
    """
    count = len(start)
    if 2**count <= EXCHANGES:
        exchanged = (np.arange(2**count)[:, None] >> np.arange(count) & 1).astype(np.float64)
    else:
        exchanged = np.random.default_rng(RESAMPLING_SEED).integers(0, 2, (EXCHANGES, count)).astype(np.float64)
        exchanged[0] = 0  # the observed texts
    sign = 1 if measure.higher_is_better else -1
    gains = np.zeros((len(exchanged), len(steps)))
    for number, rows in enumerate(steps):
        moved = exchanged @ (start - rows)
        before, after = start.sum(axis=0) - moved, rows.sum(axis=0) + moved
        gains[:, number] = [sign * (measure.value(b) - measure.value(a)) for a, b in zip(before, after, strict=True)]
    spread = gains.std(axis=0)
    gains = np.divide(gains, spread, out=np.zeros_like(gains), where=spread > 0)
    largest = gains.max(axis=1)
    return [float(np.mean(largest >= own - _EQUAL)) for own in gains[0]]


def resampled(metric: Measure, statistics: Statistics, *, resamples: int, seed: int) -> NDArray[np.float64]:
    """(system, sentence, statistic) → figures (resample, system); every system sees the same sentences."""
    if resamples < 1:
        raise ConfigError("evaluation.resamples", f"must be 1 or more, not {resamples}")
    draws = _draws(statistics.shape[1], resamples, seed)
    return np.array([[metric.value(sums) for sums in times @ statistics] for times in draws])


def two_sided(differences: NDArray[np.float64]) -> float:
    """The p-value of `paired_bootstrap`, with the observed sample counted on both sides."""
    ends = (np.sum(differences <= 0), np.sum(differences >= 0))
    return min(1.0, 2 * (int(min(ends)) + 1) / (len(differences) + 1))


def _draws(sentences: int, resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Yield the count of each sentence, (sentence,), resample by resample: memory does not grow with their number."""
    generator = np.random.default_rng(seed)
    together = max(1, min(resamples, BLOCK_SIZE // max(1, sentences)))  # the draws are those of one at a time
    firsts = sentences * np.arange(together)[:, None]
    for first in range(0, resamples, together):
        count = min(together, resamples - first)
        drawn = generator.integers(sentences, size=(count, sentences)) + firsts[:count]
        yield from np.bincount(drawn.ravel(), minlength=count * sentences).reshape(count, -1).astype(np.float64)


def percentile_interval(figures: NDArray[np.float64]) -> Interval:
    """Return the 95 % interval of resampled figures."""
    low, high = np.percentile(figures, [TAIL, 100 - TAIL])
    return Interval(float(low), float(high))
