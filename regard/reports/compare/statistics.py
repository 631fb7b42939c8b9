"""How surely one system is better than another, when each was trained with several seeds."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.evaluation import Interval, Metric
from regard.evaluation.significance import RESAMPLES, SEED, TAIL, resampled, two_sided

Table = NDArray[np.float64]  # (sentence, statistic) of one run


class Difference(NamedTuple):
    """A system and the one it is compared with."""

    value: float  # of the means
    interval: Interval
    p_value: float


class Figure(NamedTuple):
    """One metric of one system."""

    values: tuple[float, ...]  # run by run
    intervals: tuple[Interval, ...]  # of each run: over other sentences
    mean: float
    spread: float | None  # standard deviation of the runs (n - 1); None for one run
    interval: Interval  # of the mean: over other sentences and other seeds
    difference: Difference | None  # None for the baseline itself


def figures(
    metric: Metric,
    tables: Mapping[str, Sequence[Table]],
    baseline: str,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> dict[str, Figure]:
    """system → its figure; `tables` hold the statistics of every run of it.

    Sentences are drawn with replacement, the same ones for every run of every system; of each system as many seeds as
    it has are drawn with replacement, too, and d* is the difference of the means. With one seed each this is
    `regard.evaluation.compare`, to the last digit; with several, a difference that comes and goes with the seed is not
    called sure. Of n seeds alone, the spread over seeds comes out too small by sqrt((n - 1) / n).
    """
    runs = np.stack([table for several in tables.values() for table in several])
    drawn = resampled(metric, runs, resamples=resamples, seed=seed)
    found, means, start = dict[str, Figure](), dict[str, Table](), 0
    for number, (name, several) in enumerate(tables.items()):
        columns = drawn[:, start : start + len(several)]
        start += len(several)
        means[name] = _means(columns, seed + 1 + number)
        values = tuple(metric.value(table.sum(axis=0)) for table in several)
        found[name] = Figure(
            values,
            tuple(_interval(column) for column in columns.T),
            float(np.mean(values)),
            spread(values),
            _interval(means[name]),
            None,
        )
    return {
        name: figure if name == baseline else figure._replace(difference=_difference(found, means, baseline, name))
        for name, figure in found.items()
    }


def spread(values: Sequence[float]) -> float | None:
    """The standard deviation of a sample; None of one value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def _means(columns: Table, seed: int) -> Table:
    """(resample, run) → (resample,): the mean of as many runs, drawn with replacement."""
    count = columns.shape[1]
    chosen = np.random.default_rng(seed).integers(count, size=columns.shape)
    return np.take_along_axis(columns, chosen, axis=1).mean(axis=1)


def _difference(found: Mapping[str, Figure], means: Mapping[str, Table], first: str, name: str) -> Difference:
    differences = means[name] - means[first]
    return Difference(found[name].mean - found[first].mean, _interval(differences), two_sided(differences))


def _interval(values: Table) -> Interval:
    low, high = np.percentile(values, [TAIL, 100 - TAIL])
    return Interval(float(low), float(high))
