"""The figures of an evaluation, as a text and as JSON values."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, NamedTuple

from regard.evaluation import Interval, Score
from regard.evaluation.confusion import NO_LABEL, Confusion
from regard.evaluation.metric import Statistics
from regard.evaluation.significance import SignificanceTest
from regard.explain.pictures import svg
from regard.reports.report import Report
from regard.reports.table import DASH, Cell, Table, number_cell


class Robustness(NamedTuple):
    """Changes of a system's scores and answers under small changes of the texts."""

    perturbation: str  # and the fraction of words that it changes: typo:0.1
    texts: float  # fraction of the examples that it changes
    tests: tuple[SignificanceTest, ...]  # of each measure, from the clean texts to the changed ones
    answers: float  # fraction of the answers that change
    agreement: Score | None  # the first measure of the new answers, the old ones being the references; None: of labels

    def __str__(self) -> str:
        agreement = self.agreement
        agreed = "" if agreement is None else f"; {agreement.name} between both answers = {agreement.value:.2f}"
        head = f"{self.perturbation}: {self.texts:.1%} of texts and {self.answers:.1%} of answers change{agreed}"
        return "\n".join([head, *(f"  {test}" for test in self.tests)])

    def values(self) -> dict[str, Any]:
        """Return JSON values."""
        tests = [
            {"metric": test.a.name, "clean": test.a.value, "perturbed": test.b.value, "difference": test.difference,
             "interval": list(test.interval), "p_value": test.p_value}
            for test in self.tests
        ]  # fmt: skip
        agreement = None if self.agreement is None else self.agreement._asdict()
        return {"perturbation": self.perturbation, "texts_changed": self.texts, "answers_changed": self.answers,
                "scores": tests, "agreement": agreement}  # fmt: skip


class System(NamedTuple):
    """Results of one run or file on the examples."""

    name: str
    scores: tuple[Score, ...]
    intervals: tuple[Interval, ...]  # of each score, 95 %
    statistics: tuple[Statistics, ...]  # measure by measure: (example, statistic)
    seconds: float | None = None  # that a run took for them
    confusion: Confusion | None = None  # of answers that are labels
    answers: Sequence[str] = ()  # where a measure needed them
    robustness: tuple[Robustness, ...] = ()
    threshold: float | None = None  # that decided on answers, of settings or tuned


class EvaluationBucket(NamedTuple):
    """Examples of about one length."""

    words: str  # of the given text
    examples: int
    values: tuple[float, ...]  # of the first measure, system by system


class Evaluation(NamedTuple):
    """All figures of one evaluation."""

    examples: int
    systems: tuple[System, ...]
    comparisons: tuple[tuple[str, SignificanceTest], ...]  # of each later system with the first
    buckets: tuple[EvaluationBucket, ...]
    held_out: bool = False  # whether the examples were held out of the training set

    def __str__(self) -> str:
        lines, origin = [], " held out of the training set" if self.held_out else ""
        for system in self.systems:
            speed = "" if system.seconds is None else f", {self.examples / system.seconds:.0f} lines/s"
            decided = "" if system.threshold is None else f", threshold {system.threshold:.4g}"
            lines.append(f"{system.name}: {self.examples:,} lines{origin}{speed}{decided}")
            for score, (low, high) in zip(system.scores, system.intervals, strict=True):
                lines.append(f"  {score.name} = {score.value:.2f} [{low:.2f}, {high:.2f}] ({score.signature})")
            if system.confusion is not None and len(self.systems) == 1:
                lines += [f"  {line}" for line in confusion_text(system.confusion).splitlines()]
            lines += [f"  {line}" for one in system.robustness for line in str(one).splitlines()]
        lines += [f"{self.systems[0].name} and {name}, {found}" for name, found in self.comparisons]
        if self.buckets:
            lines.append(f"{self.systems[0].scores[0].name} by words of the source:")
        for bucket in self.buckets:
            values = "  ".join(f"{value:6.2f}" for value in bucket.values)
            lines.append(f"  {bucket.words:>7}  {bucket.examples:6,} lines  {values}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """The scores as a table, for a notebook."""
        tests = {(name, found.a.name): found for name, found in self.comparisons}
        rows = [
            [Cell(system.name), Cell(score.name), number_cell(round(score.value, 2)), Cell(f"{low:.2f} to {high:.2f}"),
             *_test_cells(tests.get((system.name, score.name)))]
            for system in self.systems
            for score, (low, high) in zip(system.scores, system.intervals, strict=True)
        ]  # fmt: skip
        columns = ["system", "metric", "score", "95 % interval", "difference", "p"]
        return Report([Table(columns, rows)], None, f"{self.examples:,} examples").html()

    def report(self) -> Report:
        """Return the text, the JSON values, and the confusion matrix of the first system, if its answers are labels."""
        system, *_ = self.systems
        if (confusion := system.confusion) is None:
            return Report([], self.values(), str(self))
        title = f"Answers of {system.name}"
        return Report([], self.values(), str(self), lambda ending: confusion_plot(confusion, title).encode())

    def values(self) -> dict[str, Any]:
        """The same as JSON values."""
        systems = [
            {
                "name": one.name,
                "seconds": one.seconds,
                **({} if one.threshold is None else {"threshold": one.threshold}),
                "scores": [
                    {**score._asdict(), "interval": list(interval)}
                    for score, interval in zip(one.scores, one.intervals, strict=True)
                ],
                **({} if one.confusion is None else {"confusion": one.confusion.values()}),
                **({"robustness": [some.values() for some in one.robustness]} if one.robustness else {}),
            }
            for one in self.systems
        ]
        comparisons = [
            {"with": name, "metric": found.a.name, "difference": found.difference, "interval": list(found.interval),
             "p_value": found.p_value, "mcnemar": found.mcnemar and found.mcnemar.values()}
            for name, found in self.comparisons
        ]  # fmt: skip
        buckets = [bucket._asdict() for bucket in self.buckets]
        figures = {"systems": systems, "comparisons": comparisons, "by_length": buckets}
        return {"examples": self.examples, "held_out": self.held_out, **figures}


def _test_cells(found: SignificanceTest | None) -> list[Cell]:
    """Return the difference from the first system, and its p-value."""
    return [Cell(DASH)] * 2 if found is None else [Cell(f"{found.difference:+.2f}"), Cell(f"{found.p_value:.3g}")]


_NONE = "(none)"  # how NOTHING is called
_ROWS, _LONGEST = 50, 40  # classes that are listed, and characters of their names
LARGEST_MATRIX = 12  # classes of a matrix as text; a larger one is in JSON and in the plot


def confusion_text(found: Confusion) -> str:
    """A table of the classes, and the matrix where it is not too large for a terminal."""
    tables = [_classes(found)] if len(found.labels) > LARGEST_MATRIX else [_classes(found), _matrix(found)]
    lines = [table.terminal().rstrip("\n") for table in tables]
    left = len(found.classes()) - _ROWS
    return "\n".join([*lines, *([f"{left:,} more classes: see --json"] if left > 0 else [])])


def confusion_plot(found: Confusion, title: str = "Answers to the examples of each label") -> str:
    """Return an SVG document: a row for each right label, a column for each answer; darker is more."""
    return svg(_names(found), _names(found), found.shares(), title=title)


def _classes(found: Confusion) -> Table:
    rows = [
        [
            Cell(_short(one.label)),
            *(number_cell(None) if each is None else Cell(f"{each:.2f}", each) for each in one[1:4]),
            number_cell(one.examples),
        ]
        for one in found.classes()[:_ROWS]
    ]
    return Table(["class", "precision", "recall", "f1", "examples"], rows)


def _matrix(found: Confusion) -> Table:
    names = [*map(_short, _names(found))]
    rows = [
        [Cell(label), *(number_cell(count) for count in counts)]
        for label, counts in zip(names, found.counts.tolist(), strict=True)
    ]
    return Table(["right, answered:", *names], rows)


def _names(found: Confusion) -> list[str]:
    return [_NONE if label == NO_LABEL else label for label in found.labels]


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"


EDGES = (5, 10, 15, 20, 30)  # words of a given text, where one row of the table by length ends


def length_buckets(lengths: Sequence[int], min_size: int = 1) -> list[tuple[str, list[int]]]:
    """Return examples by length: name and rows of each bucket. One below `min_size` is joined to a neighbour."""
    ends = [0, *EDGES, max([*lengths, EDGES[-1] + 1])]
    stretches = [_Stretch(low, high, []) for low, high in zip((0, *(end + 1 for end in ends[:-1])), ends, strict=True)]
    for row, length in enumerate(lengths):
        stretches[bisect_left(ends, length)].rows.append(row)
    return [(one.name, one.rows) for one in _joined([one for one in stretches if one.rows], min_size)]


class _Stretch(NamedTuple):
    """Sentences of `low` to `high` words."""

    low: int
    high: int
    rows: list[int]

    @property
    def name(self) -> str:
        return f"{self.low}-{self.high}" if self.high > self.low else f"{self.low}"


def _joined(stretches: list[_Stretch], min_size: int) -> list[_Stretch]:
    """Join the smallest bucket to its smaller neighbour, until none is too small."""
    while len(stretches) > 1 and min(len(one.rows) for one in stretches) < min_size:
        sizes = [len(one.rows) for one in stretches]
        place = sizes.index(min(sizes))
        beside = [other for other in (place - 1, place + 1) if 0 <= other < len(sizes)]
        first, last = sorted((place, min(beside, key=sizes.__getitem__)))
        both = _Stretch(stretches[first].low, stretches[last].high, stretches[first].rows + stretches[last].rows)
        stretches = [*stretches[:first], both, *stretches[last + 1 :]]
    return stretches
