"""Scores of runs and of files of translations on the same sentences; several are compared with the first.

Language models are another matter: see regard.reports.texts.
"""

from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regard.config import parse_changes, read_settings
from regard.data.readers.lines import read_lines
from regard.errors import ConfigError, DataError
from regard.evaluation import METRICS, Comparison, Metric, Score, compare
from regard.evaluation.scripts import words
from regard.experiment import Experiment
from regard.predictor import load
from regard.registry import Choice
from regard.reports.timing import timed
from regard.runs import RunFolder
from regard.runs.texts import Pairs, test_pairs

EDGES = (5, 10, 15, 20, 30)  # words of a source sentence, where one row of the table by length ends


class System(NamedTuple):
    """Translations of one run or file."""

    name: str
    texts: list[str]
    seconds: float | None = None  # that translating took
    scores: tuple[Score, ...] = ()


class Bucket(NamedTuple):
    """Sentences of about one length."""

    words: str  # of the source
    sentences: int
    values: tuple[float, ...]  # of the first metric, system by system


class Evaluation(NamedTuple):
    """All figures of one evaluation."""

    sentences: int
    systems: tuple[System, ...]
    comparisons: tuple[tuple[str, Comparison], ...]  # of each later system with the first
    buckets: tuple[Bucket, ...]

    def __str__(self) -> str:
        lines = []
        for system in self.systems:
            speed = "" if system.seconds is None else f", {self.sentences / system.seconds:.0f} sentences/s"
            lines.append(f"{system.name}: {self.sentences:,} sentences{speed}")
            lines += [f"  {score}" for score in system.scores]
        lines += [f"{self.systems[0].name} and {name}, {found}" for name, found in self.comparisons]
        if self.buckets:
            lines.append(f"{self.systems[0].scores[0].name} by words of the source:")
        for bucket in self.buckets:
            values = "  ".join(f"{value:6.2f}" for value in bucket.values)
            lines.append(f"  {bucket.words:>7}  {bucket.sentences:6,} sentences  {values}")
        return "\n".join(lines)

    def values(self) -> dict[str, Any]:
        """The same as JSON values."""
        systems = [
            {"name": one.name, "seconds": one.seconds, "scores": [score._asdict() for score in one.scores]}
            for one in self.systems
        ]
        comparisons = [
            {"with": name, "metric": found.a.name, "difference": found.difference, "interval": list(found.interval),
             "p_value": found.p_value}
            for name, found in self.comparisons
        ]  # fmt: skip
        buckets = [bucket._asdict() for bucket in self.buckets]
        return {"sentences": self.sentences, "systems": systems, "comparisons": comparisons, "by_length": buckets}


def evaluate(
    systems: Sequence[Path],
    source: Path | None = None,
    target: Path | None = None,
    *,
    changes: Sequence[str] = (),
    output: Path | None = None,
    by_length: bool = False,
) -> Evaluation:
    """Runs (folders) translate `source`, files are taken as they are; all are scored against `target`.

    Without files, the test part of the first run. `output` keeps the translations, of one system. Raises
    RegardError for what is missing or of another length.
    """
    if output is not None and len(systems) > 1:
        raise ConfigError("--output", f"keeps the translations of one system, not of {len(systems)}", "give one")
    pairs = _pairs(systems, source, target)
    translated = [_system(path, pairs, changes) for path in systems]
    if output is not None:
        output.write_text("".join(line.replace("\n", " ") + "\n" for line in translated[0].texts), encoding="utf-8")
    metrics = [METRICS.build(choice) for choice in _metrics(systems, changes)]
    sources = pairs.sources or None
    scored = [
        one._replace(scores=tuple(metric.score(one.texts, pairs.targets, sources) for metric in metrics))
        for one in translated
    ]
    first, *others = scored
    comparisons = [
        (one.name, compare(metric, first.texts, one.texts, pairs.targets, sources))
        for one in others
        for metric in metrics
    ]
    buckets = _buckets(scored, pairs, metrics[0]) if by_length else []
    return Evaluation(len(pairs.targets), tuple(scored), tuple(comparisons), tuple(buckets))


def _pairs(systems: Sequence[Path], source: Path | None, target: Path | None) -> Pairs:
    runs = [path for path in systems if path.is_dir()]
    if target is not None:
        targets = list(read_lines(target))
        sources = [] if source is None else list(read_lines(source))
        if source is not None and len(sources) != len(targets):
            raise DataError(target, f"{len(targets):,} lines, but {source} has {len(sources):,}")
        if source is None and runs:
            raise ConfigError("--source", "must be given: a run translates it", f"for {runs[0]}")
        return Pairs(sources, targets)
    if not runs:
        raise ConfigError("--target", "must be given", "the reference translation, line by line")
    found = test_pairs(RunFolder(runs[0]).experiment())
    if found is None:
        raise ConfigError("--target", f"must be given: {runs[0]} names no test part", "--source FILE --target FILE")
    return found


def _system(path: Path, pairs: Pairs, changes: Sequence[str]) -> System:
    if not path.is_dir():
        texts = list(read_lines(path))
        if len(texts) != len(pairs.targets):
            raise DataError(path, f"{len(texts):,} lines, but the reference has {len(pairs.targets):,}")
        return System(str(path), texts)
    predictor = load(path, list(changes))
    texts, spent = timed(lambda some: [one.text for one in predictor.predict(some)], pairs.sources)
    return System(str(path), texts, spent.seconds)


def _metrics(systems: Sequence[Path], changes: Sequence[str]) -> Sequence[Choice]:
    """Those of the first run, else the usual ones."""
    runs = [path for path in systems if path.is_dir()]
    if runs:
        return RunFolder(runs[0]).experiment(list(changes)).evaluation.metrics
    return read_settings(Experiment, parse_changes(changes)).evaluation.metrics


def _buckets(systems: Sequence[System], pairs: Pairs, metric: Metric) -> list[Bucket]:
    buckets = []
    for name, rows in length_buckets(pairs):
        targets = [pairs.targets[row] for row in rows]
        sources = [pairs.sources[row] for row in rows] if pairs.sources else None
        values = tuple(metric.score([one.texts[row] for row in rows], targets, sources).value for one in systems)
        buckets.append(Bucket(name, len(rows), values))
    return buckets


def lengths_of(pairs: Pairs) -> list[int]:
    """Words of each source (of each target, where there is none)."""
    return [len(words(text)) for text in pairs.sources or pairs.targets]


def length_buckets(pairs: Pairs, least: int = 1) -> list[tuple[str, list[int]]]:
    """Sentences by `lengths_of`: what a bucket is called, and its rows. One of less than `least` joins a neighbour."""
    lengths = lengths_of(pairs)
    ends = [0, *EDGES, max([*lengths, EDGES[-1] + 1])]
    stretches = [_Stretch(low, high, []) for low, high in zip((0, *(end + 1 for end in ends[:-1])), ends, strict=True)]
    for row, length in enumerate(lengths):
        stretches[bisect_left(ends, length)].rows.append(row)
    return [(one.name, one.rows) for one in _joined([one for one in stretches if one.rows], least)]


class _Stretch(NamedTuple):
    """Sentences of `low` to `high` words."""

    low: int
    high: int
    rows: list[int]

    @property
    def name(self) -> str:
        return f"{self.low}-{self.high}" if self.high > self.low else f"{self.low}"


def _joined(stretches: list[_Stretch], least: int) -> list[_Stretch]:
    """The smallest goes to the smaller one beside it, until none is too small."""
    while len(stretches) > 1 and min(len(one.rows) for one in stretches) < least:
        sizes = [len(one.rows) for one in stretches]
        place = sizes.index(min(sizes))
        beside = [other for other in (place - 1, place + 1) if 0 <= other < len(sizes)]
        first, last = sorted((place, min(beside, key=sizes.__getitem__)))
        both = _Stretch(stretches[first].low, stretches[last].high, stretches[first].rows + stretches[last].rows)
        stretches = [*stretches[:first], both, *stretches[last + 1 :]]
    return stretches
