"""Significance of the difference between systems, each trained with one seed or with several."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.evaluation import Interval
from regard.evaluation.significance import (
    RESAMPLES,
    RESAMPLING_SEED,
    McNemar,
    mcnemar,
    percentile_interval,
    resampled,
    two_sided,
    wilcoxon,
)
from regard.tasks import Measure

_Table = NDArray[np.float64]  # (sentence, statistic) of one run
Tables = Mapping[str, Sequence[_Table]]  # system → those of its runs


class Difference(NamedTuple):
    """A system and the one it is compared with."""

    value: float  # of the means
    interval: Interval
    p_value: float
    mcnemar: McNemar | None = None  # of answers that are right or wrong, each given once by each system
    wilcoxon: float | None = None  # p-value of the signed-rank test, run by run; None for one run


class Figure(NamedTuple):
    """One metric of one system."""

    values: tuple[float, ...]  # run by run
    intervals: tuple[Interval, ...]  # of each run: over other sentences
    mean: float
    spread: float | None  # standard deviation of the runs (n - 1); None for one run
    interval: Interval  # of the mean: over other sentences and, where there are several runs, other seeds
    difference: Difference | None  # None for the baseline itself, and where the two count different things


class _Resampled(NamedTuple):
    """One metric of one system, resample by resample."""

    runs: _Table  # (resample, run)
    means: _Table  # (resample,): of as many resampled runs


def figures(
    metric: Measure,
    tables: Tables,
    baseline: str,
    *,
    folds: bool = False,
    paired: bool = True,
    resamples: int = RESAMPLES,
    seed: int = RESAMPLING_SEED,
) -> dict[str, Figure]:
    """system → its figure; `tables` hold the statistics of every run of it.

    Sentences are resampled with replacement, the same ones for every run of every system; the seeds of each system are
    resampled with replacement, too, and d* is the difference of the means. With one seed each this equals
    `regard.evaluation.paired_bootstrap`, to the last digit; with several, a difference that depends on the seed is not
    significant. With n seeds the spread over seeds is too small by sqrt((n - 1) / n).

    With `folds` each run of a system has a test set of its own, in the same order for every system: sentences are
    resampled fold by fold, and the resampled folds are the same for all. Where runs are not `paired`, by their seeds,
    there is no signed-rank test.
    """
    samples = (_resampled_by_fold if folds else _resampled)(metric, tables, resamples, seed, seed)
    found = dict[str, Figure]()
    for name, several in tables.items():
        values = tuple(metric.value(table.sum(axis=0)) for table in several)
        intervals = tuple(percentile_interval(column) for column in samples[name].runs.T)
        mean, interval = float(np.mean(values)), percentile_interval(samples[name].means)
        found[name] = Figure(values, intervals, mean, spread(values), interval, None)
    for name in _rivals(metric, tables, baseline):
        lead, leads = found[name].mean - found[baseline].mean, samples[name].means - samples[baseline].means
        difference = _difference(lead, leads)._replace(
            mcnemar=_mcnemar(metric, tables[baseline], tables[name], folds=folds),
            wilcoxon=_wilcoxon(found[baseline].values, found[name].values) if paired else None,
        )
        found[name] = found[name]._replace(difference=difference)
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
    """system → its difference from the baseline on some sentences less that on the others.

    Both kinds of sentences are resampled separately, seeds for both together.
    """
    parts = [{name: [table[rows] for table in several] for name, several in tables.items()} for rows in (some, others)]
    samples = [_resampled(metric, part, resamples, seed + number, seed) for number, part in enumerate(parts)]
    found = dict[str, Difference]()
    for name in _rivals(metric, tables, baseline):
        leads = [_mean(metric, part[name]) - _mean(metric, part[baseline]) for part in parts]
        sampled = [part[name].means - part[baseline].means for part in samples]
        found[name] = _difference(leads[0] - leads[1], sampled[0] - sampled[1])
    return found


def _mcnemar(metric: Measure, before: Sequence[_Table], after: Sequence[_Table], *, folds: bool) -> McNemar | None:
    """Return the test of one training each, or of all folds together: answers of several seeds are not independent.

    None of a loss: its ones are wrong answers.
    Other metrics than a share of right answers have tables that differ in width between folds.
    """
    right_or_wrong = metric.higher_is_better and all(one.shape[1] == 2 for one in (*before, *after))
    if right_or_wrong and (folds or len(before) == len(after) == 1):
        return mcnemar(np.concatenate(before), np.concatenate(after))
    return None


def _wilcoxon(before: Sequence[float], after: Sequence[float]) -> float | None:
    """Return the test of runs in pairs, by their seeds or folds; None for one run, or unpaired ones."""
    if len(before) != len(after) or len(before) == 1:
        return None
    return wilcoxon([b - a for a, b in zip(before, after, strict=True)])


def spread(values: Sequence[float]) -> float | None:
    """Return the standard deviation of a sample; None for one value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def mean_and_spread(values: Sequence[float], form: str = ".2f") -> str:
    """38.37 ± 0.21; nothing of no values."""
    if not values:
        return ""
    around = spread(values)
    return f"{np.mean(values):{form}}" + ("" if around is None else f" ± {around:{form}}")


def _rivals(metric: Measure, tables: Tables, baseline: str) -> list[str]:
    """Return the systems that can be compared with the baseline."""
    first = tables[baseline][0]
    others = [name for name in tables if name != baseline]
    return [name for name in others if all(metric.comparable(first, table) for table in tables[name])]


def _resampled(metric: Measure, tables: Tables, resamples: int, seed: int, seeds: int) -> dict[str, _Resampled]:
    """Resample the sentences by `seed`, the runs by `seeds`."""
    runs = np.stack([table for several in tables.values() for table in several])
    columns, found, start = resampled(metric, runs, resamples=resamples, seed=seed), dict[str, _Resampled](), 0
    for number, (name, several) in enumerate(tables.items()):
        ours = columns[:, start : start + len(several)]
        start += len(several)
        found[name] = _Resampled(ours, _means(ours, seeds + 1 + number))
    return found


def _resampled_by_fold(metric: Measure, tables: Tables, resamples: int, seed: int, folds: int) -> dict[str, _Resampled]:
    """Resample the sentences of each fold by `seed`, the folds by `folds`."""
    columns = [
        resampled(metric, np.stack(runs), resamples=resamples, seed=seed + number)
        for number, runs in enumerate(zip(*tables.values(), strict=True))
    ]
    found = dict[str, _Resampled]()
    for place, name in enumerate(tables):
        ours = np.stack([column[:, place] for column in columns], axis=1)
        found[name] = _Resampled(ours, _means(ours, folds + 1))
    return found


def _mean(metric: Measure, several: Sequence[_Table]) -> float:
    """Return the mean over the runs."""
    return float(np.mean([metric.value(table.sum(axis=0)) for table in several]))


def _means(columns: _Table, seed: int) -> _Table:
    """(resample, run) → (resample,): the mean of as many runs, resampled with replacement."""
    count = columns.shape[1]
    chosen = np.random.default_rng(seed).integers(count, size=columns.shape)
    return np.take_along_axis(columns, chosen, axis=1).mean(axis=1)


def _difference(value: float, samples: _Table) -> Difference:
    return Difference(value, percentile_interval(samples), two_sided(samples))
