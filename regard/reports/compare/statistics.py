"""How surely one system is better than another, when each was trained with one seed or with several."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.evaluation import Interval
from regard.evaluation.significance import RESAMPLES, RESAMPLING_SEED, TAIL, resampled, two_sided
from regard.tasks import Measure

_Table = NDArray[np.float64]  # (sentence, statistic) of one run
Tables = Mapping[str, Sequence[_Table]]  # system → those of its runs


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
    interval: Interval  # of the mean: over other sentences and, where there are several runs, other seeds
    difference: Difference | None  # None for the baseline itself, and where the two count different things


class _Drawn(NamedTuple):
    """One metric of one system, resample by resample."""

    runs: _Table  # (resample, run)
    means: _Table  # (resample,): of as many runs, drawn, too


def figures(
    metric: Measure,
    tables: Tables,
    baseline: str,
    *,
    folds: bool = False,
    resamples: int = RESAMPLES,
    seed: int = RESAMPLING_SEED,
) -> dict[str, Figure]:
    """system → its figure; `tables` hold the statistics of every run of it.

    Sentences are drawn with replacement, the same ones for every run of every system; of each system as many seeds as
    it has are drawn with replacement, too, and d* is the difference of the means. With one seed each this is
    `regard.evaluation.paired_bootstrap`, to the last digit, over other sentences alone; with several, a difference
    that comes and goes with the seed is not called sure. Of n seeds alone, the spread over seeds comes out too small by
    sqrt((n - 1) / n).

    With `folds` the runs of a system are of one test part each, in the same order for every system: sentences are drawn
    fold by fold, and the folds that are drawn are the same for all.
    """
    drawn = (_drawn_by_fold if folds else _drawn)(metric, tables, resamples, seed, seed)
    found = dict[str, Figure]()
    for name, several in tables.items():
        values = tuple(metric.value(table.sum(axis=0)) for table in several)
        intervals = tuple(_interval(column) for column in drawn[name].runs.T)
        mean, interval = float(np.mean(values)), _interval(drawn[name].means)
        found[name] = Figure(values, intervals, mean, spread(values), interval, None)
    for name in _rivals(metric, tables, baseline):
        lead, draws = found[name].mean - found[baseline].mean, drawn[name].means - drawn[baseline].means
        found[name] = found[name]._replace(difference=_difference(lead, draws))
    return found


def gains(
    metric: Measure,
    tables: Tables,
    baseline: str,
    some: Sequence[int],
    others: Sequence[int],
    *,
    resamples: int = RESAMPLES,
    seed: int = RESAMPLING_SEED,
) -> dict[str, Difference]:
    """system → how much further it is from the baseline on some sentences than on the others.

    Both kinds of sentences are drawn by themselves, seeds for both together.
    """
    parts = [{name: [table[rows] for table in several] for name, several in tables.items()} for rows in (some, others)]
    draws = [_drawn(metric, part, resamples, seed + number, seed) for number, part in enumerate(parts)]
    found = dict[str, Difference]()
    for name in _rivals(metric, tables, baseline):
        leads = [_mean(metric, part[name]) - _mean(metric, part[baseline]) for part in parts]
        drawn = [part[name].means - part[baseline].means for part in draws]
        found[name] = _difference(leads[0] - leads[1], drawn[0] - drawn[1])
    return found


def spread(values: Sequence[float]) -> float | None:
    """The standard deviation of a sample; None of one value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def mean_and_spread(values: Sequence[float], form: str = ".2f") -> str:
    """38.37 ± 0.21; nothing of no values."""
    if not values:
        return ""
    around = spread(values)
    return f"{np.mean(values):{form}}" + ("" if around is None else f" ± {around:{form}}")


def _rivals(metric: Measure, tables: Tables, baseline: str) -> list[str]:
    """Those that can be compared with the baseline."""
    first = tables[baseline][0]
    others = [name for name in tables if name != baseline]
    return [name for name in others if all(metric.comparable(first, table) for table in tables[name])]


def _drawn(metric: Measure, tables: Tables, resamples: int, seed: int, seeds: int) -> dict[str, _Drawn]:
    """`seed` draws the sentences, `seeds` the runs."""
    runs = np.stack([table for several in tables.values() for table in several])
    columns, found, start = resampled(metric, runs, resamples=resamples, seed=seed), dict[str, _Drawn](), 0
    for number, (name, several) in enumerate(tables.items()):
        ours = columns[:, start : start + len(several)]
        start += len(several)
        found[name] = _Drawn(ours, _means(ours, seeds + 1 + number))
    return found


def _drawn_by_fold(metric: Measure, tables: Tables, resamples: int, seed: int, folds: int) -> dict[str, _Drawn]:
    """`seed` draws the sentences of each fold, `folds` the folds."""
    columns = [
        resampled(metric, np.stack(runs), resamples=resamples, seed=seed + number)
        for number, runs in enumerate(zip(*tables.values(), strict=True))
    ]
    found = dict[str, _Drawn]()
    for place, name in enumerate(tables):
        ours = np.stack([drawn[:, place] for drawn in columns], axis=1)
        found[name] = _Drawn(ours, _means(ours, folds + 1))
    return found


def _mean(metric: Measure, several: Sequence[_Table]) -> float:
    """Over the runs."""
    return float(np.mean([metric.value(table.sum(axis=0)) for table in several]))


def _means(columns: _Table, seed: int) -> _Table:
    """(resample, run) → (resample,): the mean of as many runs, drawn with replacement."""
    count = columns.shape[1]
    chosen = np.random.default_rng(seed).integers(count, size=columns.shape)
    return np.take_along_axis(columns, chosen, axis=1).mean(axis=1)


def _difference(value: float, drawn: _Table) -> Difference:
    return Difference(value, _interval(drawn), two_sided(drawn))


def _interval(values: _Table) -> Interval:
    low, high = np.percentile(values, [TAIL, 100 - TAIL])
    return Interval(float(low), float(high))
