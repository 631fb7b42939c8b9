"""The results of all runs → one figure a cell, as plain values for JSON, tables and a page."""

import math
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any, NamedTuple

from regard.reports.compare.lengths import Bucket, Halves, bucket_values, buckets_of, halves_of, halves_values
from regard.reports.compare.measure import Judge, Result
from regard.reports.compare.plan import Contender, differing
from regard.reports.compare.row import Row, figure_values
from regard.reports.compare.statistics import Tables, figures, spread
from regard.reports.evaluation import count_of
from regard.tasks import Wording

SHOWN = 4  # names in a title
OF_ROWS = (
    "tokens_per_second", "words_per_second", "sentences_per_second", "tokens_per_core_second", "words_per_core_second",
    "sentences_per_core_second", "seconds", "core_seconds",
)  # fmt: skip
OF_RUNS = (
    "name", "seed", "updates", "seconds", "core_seconds", "tokens_per_second", "tokens_per_core_second",
    "sentences_per_second", "sentences_per_core_second", "error_rate", "curve",
)  # fmt: skip


class Compared(NamedTuple):
    """All that a comparison found."""

    rows: list[Row]
    baseline: str
    metrics: list[str]
    signatures: list[str]
    higher_is_better: list[bool | None]  # metric by metric
    steering: str  # the dev score of the curves
    sentences: int  # of the test part
    buckets: list[Bucket]  # the first metric by length
    differing: dict[str, list[Any]]  # setting → value of each row
    failed: dict[str, str]  # runs without a result, and why
    about: dict[str, Any]  # command, machine …
    halves: Halves | None = None  # the first metric in the longer half of the test part, and in the other
    wording: Wording = Wording()

    def values(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            **self.about,
            "baseline": self.baseline,
            "sentences": self.sentences,
            "metrics": [{"name": a, "signature": b} for a, b in zip(self.metrics, self.signatures, strict=True)],
            "systems": [self._values(row) for row in self.rows],
            "by_length": [bucket_values(bucket, self.names) for bucket in self.buckets],
            "by_half": halves_values(self.halves, self.names),
            "differing": {name: dict(zip(self.names, row, strict=True)) for name, row in self.differing.items()},
            "failed": self.failed,
        }

    @property
    def names(self) -> list[str]:
        """Of the rows."""
        return [row.name for row in self.rows]

    @property
    def by_core(self) -> bool:
        """Whether tables tell times and speeds of the processor, which are the same on a busy machine."""
        return all(row.by_core for row in self.rows)

    @property
    def one_seed(self) -> list[str]:
        """The systems of which no second training can tell what a seed does."""
        return [row.name for row in self.rows if len(row.results) == 1]

    def _values(self, row: Row) -> dict[str, Any]:
        return {
            "name": row.name,
            "config": row.config,
            "changes": row.changes,
            **row.origin._asdict(),
            "scores": dict(zip(self.metrics, map(figure_values, row.figures), strict=True)),
            "parameters": row.parameters,
            **{name: getattr(row, name) for name in OF_ROWS},
            "alignment_error_rate": {"mean": mean(rates), "spread": spread(rates)}
            if (rates := row.error_rates)
            else None,
            "runs": [{name: getattr(result, name) for name in OF_RUNS} for result in row.results],
        }

    @property
    def title(self) -> str:
        """With the names of the first few."""
        return f"Comparison of {', '.join(self.names[:SHOWN])}{' …' if len(self.names) > SHOWN else ''}"

    @property
    def made(self) -> str:
        """When, by which version, on what."""
        machine = [f"{name} {value}" for name, value in self.about.get("environment", {}).items()]
        return " · ".join([f"Regard {self.about.get('version', '')}", self.about.get("date", ""), *machine])


def summarise(
    contenders: Sequence[Contender],
    results: Mapping[str, Sequence[Result]],
    judge: Judge,
    baseline: str,
    failed: Mapping[str, str],
    about: Mapping[str, Any],
) -> Compared:
    """`results` by contender; whoever has none has no row. The baseline must have some."""
    there = [one for one in contenders if results.get(one.name)]
    tables: list[Tables] = [
        {one.name: [run.statistics[place] for run in results[one.name]] for one in there}
        for place in range(len(judge.metrics))
    ]
    by_metric = [figures(metric, some, baseline) for metric, some in zip(judge.metrics, tables, strict=True)]
    rows = [
        Row(
            one.name,
            str(one.config),
            list(one.changes),
            list(results[one.name]),
            [found[one.name] for found in by_metric],
            one.origin,
        )
        for one in there
    ]
    return Compared(
        rows=rows,
        baseline=baseline,
        metrics=[metric.name for metric in judge.metrics],
        signatures=judge.signatures(),
        higher_is_better=[metric.higher_is_better for metric in judge.metrics],
        steering=judge.steering,
        sentences=count_of(judge.test),
        buckets=buckets_of(tables[0], judge, baseline),
        differing=differing(there),
        failed=dict(failed),
        about=dict(about),
        halves=halves_of(tables[0], judge, baseline),
        wording=judge.wording,
    )


def finite(value: Any) -> Any:
    """JSON has no word for what is no number."""
    if isinstance(value, dict):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
