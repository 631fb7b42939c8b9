"""The figures of an evaluation, as a text and as JSON values."""

from typing import Any, NamedTuple

from regard.evaluation import Interval, Score, SignificanceTest
from regard.evaluation.confusion import Confusion
from regard.evaluation.metric import Statistics
from regard.reports.confusion import text_of


class System(NamedTuple):
    """What one run or file makes of the examples."""

    name: str
    scores: tuple[Score, ...]
    intervals: tuple[Interval, ...]  # of each score, 95 %
    statistics: tuple[Statistics, ...]  # measure by measure: (example, statistic)
    seconds: float | None = None  # that a run took for them
    confusion: Confusion | None = None  # of answers that are labels


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

    def __str__(self) -> str:
        lines = []
        for system in self.systems:
            speed = "" if system.seconds is None else f", {self.examples / system.seconds:.0f} lines/s"
            lines.append(f"{system.name}: {self.examples:,} lines{speed}")
            for score, (low, high) in zip(system.scores, system.intervals, strict=True):
                lines.append(f"  {score.name} = {score.value:.2f} [{low:.2f}, {high:.2f}] ({score.signature})")
            if system.confusion is not None and len(self.systems) == 1:
                lines += [f"  {line}" for line in text_of(system.confusion).splitlines()]
        lines += [f"{self.systems[0].name} and {name}, {found}" for name, found in self.comparisons]
        if self.buckets:
            lines.append(f"{self.systems[0].scores[0].name} by words of the source:")
        for bucket in self.buckets:
            values = "  ".join(f"{value:6.2f}" for value in bucket.values)
            lines.append(f"  {bucket.words:>7}  {bucket.examples:6,} lines  {values}")
        return "\n".join(lines)

    def values(self) -> dict[str, Any]:
        """The same as JSON values."""
        systems = [
            {
                "name": one.name,
                "seconds": one.seconds,
                "scores": [
                    {**score._asdict(), "interval": list(interval)}
                    for score, interval in zip(one.scores, one.intervals, strict=True)
                ],
                **({} if one.confusion is None else {"confusion": one.confusion.values()}),
            }
            for one in self.systems
        ]
        comparisons = [
            {"with": name, "metric": found.a.name, "difference": found.difference, "interval": list(found.interval),
             "p_value": found.p_value}
            for name, found in self.comparisons
        ]  # fmt: skip
        buckets = [bucket._asdict() for bucket in self.buckets]
        return {"examples": self.examples, "systems": systems, "comparisons": comparisons, "by_length": buckets}
