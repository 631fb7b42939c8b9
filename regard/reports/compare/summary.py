"""The results of all runs → one row a contender, as plain values for JSON, tables and a page."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import mean, median
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError
from regard.evaluation.tokenization import words
from regard.reports.compare.measure import Evaluator, Result
from regard.reports.compare.plan import Contender, Publication, differing_settings
from regard.reports.compare.statistics import Difference, Figure, Tables, figures, gains, spread
from regard.reports.evaluation_report import length_buckets
from regard.reports.timing import ClockRate, TimeSpent
from regard.tasks import Measure, Wording
from regard.tasks.examples import count_of

_SHOWN = 4  # names in a title
BAG = "bag of words"  # its name in tables
Bags = Mapping[int, Sequence[NDArray[np.float64]]]  # seed or fold → metric by metric, statistics of the bag of words
SMALLEST_BUCKET = 30  # sentences of a bucket: with fewer, an interval is too wide to be useful


class SystemRow(NamedTuple):
    """One contender: figures over all its runs."""

    name: str
    config: str
    changes: list[str]
    results: list[Result]
    figures: list[Figure]  # metric by metric
    publication: Publication = Publication()

    @property
    def parameters(self) -> int:
        """Return the number of parameters, the same for every seed."""
        return self.results[0].parameters

    @property
    def spent(self) -> TimeSpent:
        """Return the mean time of training; without processor time where a run did not log it."""
        walls, cores = zip(*(run.spent for run in self.results), strict=True)
        return TimeSpent(mean(walls), None if None in cores else mean(cores))

    @property
    def tokens(self) -> ClockRate:
        """Return target tokens in training: the median of the runs that are long enough to measure."""
        return _median_rate(run.tokens for run in self.results)

    @property
    def words(self) -> ClockRate:
        """Return target words in training: comparable between runs with different tokenizers."""
        return _median_rate(run.tokens / run.tokens_per_word for run in self.results)

    @property
    def sentences(self) -> ClockRate:
        """Return sentences of the test set: the median of the runs."""
        return _median_rate(run.sentences for run in self.results)

    @property
    def by_core(self) -> bool:
        """Return whether all speeds are in processor time: it was counted, and all runs were on a CPU."""
        return all(
            None not in (run.spent.core_seconds, run.sentences.per_core_second)
            and (run.tokens.per_core_second is not None or run.tokens.per_second is None)
            for run in self.results
        )

    @property
    def error_rates(self) -> list[float]:
        """Return the alignment error rate of each run; [] for a model without alignment, or without gold links."""
        return [run.error_rate for run in self.results if run.error_rate is not None]

    def curve(self) -> list[tuple[int, float, float, float]]:
        """Return (update, mean, least, most) of the scores on the dev set, over the runs that reached the update."""
        scores = defaultdict[int, list[float]](list)
        for run in self.results:
            for update, _, score, *_ in run.curve:
                scores[update].append(score)
        return [(update, mean(found), min(found), max(found)) for update, found in sorted(scores.items())]


class ComparisonBucket(NamedTuple):
    """Sentences of about one length."""

    words: str  # 6-10
    sentences: int
    figures: list[Figure]  # row by row


class Halves(NamedTuple):
    """The test set, split at the length that leaves about as many sentences on either side."""

    words: int  # the longer half has more than these
    shorter: int  # sentences
    longer: int
    gains: list[Difference | None]  # row by row: its lead over the baseline in the longer half less that in the other

    def values(self, names: Sequence[str]) -> dict[str, Any]:
        """Return JSON values, by the names of rows."""
        found = _difference_values(names, self.gains)
        return {"more_words_than": self.words, "shorter": self.shorter, "longer": self.longer, "gains": found}


class Compared(NamedTuple):
    """Results of a comparison."""

    rows: list[SystemRow]
    baseline: str
    metrics: list[str]
    signatures: list[str]
    higher_is_better: list[bool | None]  # metric by metric
    curve_metric: str  # the score on the dev set that the curves show
    sentences: int  # of the test set
    buckets: list[ComparisonBucket]  # the first metric by length
    differing: dict[str, list[Any]]  # setting → value of each row
    failed: dict[str, str]  # runs without a result, and why
    about: dict[str, Any]  # command, machine …
    halves: Halves | None = None  # the first metric in the longer half of the test set, and in the other
    wording: Wording = Wording()
    folds: int = 0  # test sets of one run each; 0: all runs have the same test set
    bag: Sequence[Mapping[str, Figure]] = ()  # metric by metric: BAG, and each row with its difference to it; (): none

    @property
    def names(self) -> list[str]:
        """Return the names of the rows."""
        return [row.name for row in self.rows]

    @property
    def by_core(self) -> bool:
        """Return whether tables show processor time and speed, which do not depend on other load."""
        return all(row.by_core for row in self.rows)

    @property
    def one_seed(self) -> list[str]:
        """Return the systems with one training, whose variance over seeds is unknown."""
        return [row.name for row in self.rows if len(row.results) == 1]

    @property
    def title(self) -> str:
        """Return a title with the names of the first few systems."""
        return f"Comparison of {', '.join(self.names[:_SHOWN])}{' …' if len(self.names) > _SHOWN else ''}"

    @property
    def made(self) -> str:
        """Return date, version and machine."""
        machine = [f"{name} {value}" for name, value in self.about.get("environment", {}).items()]
        return " · ".join([f"Regard {self.about.get('version', '')}", self.about.get("date", ""), *machine])

    def values(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            **self.about,
            "baseline": self.baseline,
            "sentences": self.sentences,
            "folds": self.folds,
            "metrics": [{"name": a, "signature": b} for a, b in zip(self.metrics, self.signatures, strict=True)],
            "systems": [_row_values(row, self.metrics) for row in self.rows],
            "by_length": [_bucket_values(bucket, self.names) for bucket in self.buckets],
            "by_half": self.halves and self.halves.values(self.names),
            "bag_of_words": _bag_values(self),
            "differing": {name: dict(zip(self.names, row, strict=True)) for name, row in self.differing.items()},
            "failed": self.failed,
        }


def summarise(
    contenders: Sequence[Contender],
    results: Mapping[str, Sequence[Result]],
    evaluator: Evaluator,
    baseline: str,
    failed: Mapping[str, str],
    about: Mapping[str, Any],
    bags: Bags = MappingProxyType({}),
) -> Compared:
    """Summarise `results` by contender; one without results has no row. The baseline must have some.

    A fold counts if every row has a result of it, so that all are evaluated on the same examples.
    """
    listed = [one for one in contenders if results.get(one.name)]
    if evaluator.folds:
        results = _of_common_folds({one.name: results[one.name] for one in listed})
    tables: list[Tables] = [
        {one.name: [run.statistics[place] for run in results[one.name]] for one in listed}
        for place in range(len(evaluator.metrics))
    ]
    folds = [run.seed - 1 for run in results[baseline]] if evaluator.folds else []
    paired = len({tuple(run.seed for run in results[one.name]) for one in listed}) == 1
    by_metric = [
        figures(metric, some, baseline, folds=bool(folds), paired=paired)
        for metric, some in zip(evaluator.metrics, tables, strict=True)
    ]
    chosen = [bags[one] for one in sorted(bags) if not folds or one - 1 in folds]
    return Compared(
        rows=[
            SystemRow(
                name, str(config), list(changes), list(results[name]), [one[name] for one in by_metric], publication
            )
            for name, config, changes, _, publication in listed
        ],
        baseline=baseline,
        metrics=[metric.name for metric in evaluator.metrics],
        signatures=evaluator.signatures(),
        higher_is_better=[metric.higher_is_better for metric in evaluator.metrics],
        curve_metric=evaluator.curve_metric,
        sentences=sum(count_of(evaluator.folds[fold]) for fold in folds) if folds else count_of(evaluator.test),
        buckets=[] if folds else buckets_of(tables[0], evaluator, baseline),
        differing=differing_settings(listed),
        failed=dict(failed),
        about=dict(about),
        halves=None if folds else halves_of(tables[0], evaluator, baseline),
        wording=evaluator.wording,
        folds=len(folds),
        bag=_beside_bag(evaluator.metrics, tables, chosen),
    )


def _beside_bag(
    metrics: Sequence[Measure], tables: Sequence[Tables], bags: Sequence[Sequence[NDArray[np.float64]]]
) -> list[dict[str, Figure]]:
    """Return the figures of the bag of words and, beside it, of all rows; `bags` has one test set, or one a fold."""
    if not bags:
        return []
    return [
        figures(metric, {BAG: [bag[place] for bag in bags], **some}, BAG, folds=len(bags) > 1, paired=len(bags) > 1)
        for place, (metric, some) in enumerate(zip(metrics, tables, strict=True))
    ]


def _bag_values(compared: Compared) -> dict[str, Any] | None:
    """Return the JSON values of each metric of the bag of words, and of the differences to it; None without one."""
    if not compared.bag:
        return None
    return {
        metric: {name: _figure_values(figure) for name, figure in found.items()}
        for metric, found in zip(compared.metrics, compared.bag, strict=True)
    }


def _of_common_folds(results: Mapping[str, Sequence[Result]]) -> dict[str, list[Result]]:
    """Return the results of the folds that all have, fold by fold. Raises RegardError where there is none."""
    common = set.intersection(*({run.seed for run in several} for several in results.values()))
    if not common:
        raise RegardError(f"compare: no fold has a result of all of {', '.join(results)}")
    return {name: [run for run in several if run.seed in common] for name, several in results.items()}


def buckets_of(tables: Tables, evaluator: Evaluator, baseline: str) -> list[ComparisonBucket]:
    """Return the first metric by the length of the texts; buckets of few sentences are joined with a neighbour."""
    found = []
    for label, lines in length_buckets(_lengths(evaluator), SMALLEST_BUCKET):
        some = {name: [table[lines] for table in several] for name, several in tables.items()}
        found.append(ComparisonBucket(label, len(lines), list(figures(evaluator.metrics[0], some, baseline).values())))
    return found


def halves_of(tables: Tables, evaluator: Evaluator, baseline: str) -> Halves | None:
    """Return whether a lead grows with length; None where there are few sentences, or nobody to compare."""
    lengths = _lengths(evaluator)
    edge = min(set(lengths), key=lambda edge: (abs(2 * sum(length > edge for length in lengths) - len(lengths)), edge))
    longer = [place for place, length in enumerate(lengths) if length > edge]
    shorter = [place for place, length in enumerate(lengths) if length <= edge]
    if min(len(longer), len(shorter)) < SMALLEST_BUCKET:
        return None
    found = gains(evaluator.metrics[0], tables, baseline, longer, shorter)
    return Halves(edge, len(shorter), len(longer), [found.get(name) for name in tables]) if found else None


def _lengths(evaluator: Evaluator) -> list[int]:
    """Words of each given text."""
    return [len(words(text)) for text in next(iter(evaluator.test.values()))]


def finite(value: Any) -> Any:
    """Return JSON values with null for numbers that are not finite."""
    if isinstance(value, dict):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _median_rate(rates: Iterable[ClockRate]) -> ClockRate:
    """Return the median of the known rates, by each clock."""
    known = [[value for value in values if value is not None] for values in zip(*rates, strict=True)]
    return ClockRate(*(median(values) if values else None for values in known))


def _prefixed(name: str, rate: ClockRate) -> dict[str, float | None]:
    """tokens_per_second, tokens_per_core_second"""
    return {f"{name}_{field}": value for field, value in rate._asdict().items()}


def _row_values(row: SystemRow, metrics: Sequence[str]) -> dict[str, Any]:
    rates = row.error_rates
    return {
        "name": row.name,
        "config": row.config,
        "changes": row.changes,
        **row.publication._asdict(),
        "scores": dict(zip(metrics, map(_figure_values, row.figures), strict=True)),
        "parameters": row.parameters,
        **_prefixed("tokens", row.tokens),
        **_prefixed("words", row.words),
        **_prefixed("sentences", row.sentences),
        **row.spent._asdict(),
        "alignment_error_rate": {"mean": mean(rates), "spread": spread(rates)} if rates else None,
        "runs": [
            {
                "name": run.name,
                "seed": run.seed,
                "updates": run.updates,
                **run.spent._asdict(),
                **_prefixed("tokens", run.tokens),
                **_prefixed("sentences", run.sentences),
                "error_rate": run.error_rate,
                "curve": run.curve,
            }
            for run in row.results
        ],
    }


def _figure_values(figure: Figure) -> dict[str, Any]:
    found = figure.difference
    return {
        "mean": figure.mean,
        "spread": figure.spread,
        "interval": list(figure.interval),
        "values": list(figure.values),
        "intervals": [list(one) for one in figure.intervals],
        "difference": found and found.value,
        "difference_interval": found and list(found.interval),
        "p_value": found and found.p_value,
        "mcnemar": found and found.mcnemar and found.mcnemar.values(),
        "wilcoxon_p_value": found and found.wilcoxon,
    }


def _bucket_values(bucket: ComparisonBucket, names: Sequence[str]) -> dict[str, Any]:
    named = dict(zip(names, bucket.figures, strict=True))
    return {
        "words": bucket.words,
        "sentences": bucket.sentences,
        "values": {name: figure.mean for name, figure in named.items()},
        "intervals": {name: list(figure.interval) for name, figure in named.items()},
        "differences": _difference_values(names, [figure.difference for figure in bucket.figures]),
    }


def _difference_values(names: Sequence[str], found: Sequence[Difference | None]) -> dict[str, Any]:
    """Return the values of the differences that exist."""
    return {
        name: {"difference": one.value, "interval": list(one.interval), "p_value": one.p_value}
        for name, one in zip(names, found, strict=True)
        if one is not None
    }
