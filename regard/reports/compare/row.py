"""One row of a comparison: all runs of a contender as one figure a column."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import mean, median
from typing import Any, NamedTuple

from regard.reports.compare.measure import Result
from regard.reports.compare.origin import Origin
from regard.reports.compare.statistics import Figure, spread
from regard.reports.compare.table import NONE


class Row(NamedTuple):
    """One contender."""

    name: str
    config: str
    changes: list[str]
    results: list[Result]
    figures: list[Figure]  # metric by metric
    origin: Origin = Origin()

    @property
    def parameters(self) -> int:
        """The same for every seed."""
        return self.results[0].parameters

    @property
    def seconds(self) -> float:
        """Of training, on average."""
        return mean(result.seconds for result in self.results)

    @property
    def core_seconds(self) -> float | None:
        """Of training in processor time, on average; None where a run did not count it."""
        spent = [result.core_seconds for result in self.results if result.core_seconds is not None]
        return mean(spent) if len(spent) == len(self.results) else None

    @property
    def tokens_per_second(self) -> float | None:
        """Of the runs that were long enough to tell, the median."""
        return _median(result.tokens_per_second for result in self.results)

    @property
    def words_per_second(self) -> float | None:
        """Target words in training: the same for those that cut them into other pieces."""
        return _median(
            None if result.tokens_per_second is None else result.tokens_per_second / result.tokens_per_word
            for result in self.results
        )

    @property
    def tokens_per_core_second(self) -> float | None:
        """Per second of processor time, which other work on the machine does not change."""
        return _median(result.tokens_per_core_second for result in self.results)

    @property
    def words_per_core_second(self) -> float | None:
        """Target words in training, per second of processor time."""
        return _median(
            None if result.tokens_per_core_second is None else result.tokens_per_core_second / result.tokens_per_word
            for result in self.results
        )

    @property
    def sentences_per_second(self) -> float:
        """The median of the runs."""
        return median(result.sentences_per_second for result in self.results)

    @property
    def sentences_per_core_second(self) -> float | None:
        """Per second of processor time; None where that tells nothing."""
        return _median(result.sentences_per_core_second for result in self.results)

    @property
    def by_core(self) -> bool:
        """Whether processor time tells all of its speeds: it was counted, and no run was anywhere but on a CPU."""
        return all(
            run.core_seconds is not None
            and run.sentences_per_core_second is not None
            and (run.tokens_per_core_second is not None or run.tokens_per_second is None)
            for run in self.results
        )

    @property
    def error_rates(self) -> list[float]:
        """Of the word alignments, run by run; none where the model aligns nothing or there is no gold."""
        return [result.error_rate for result in self.results if result.error_rate is not None]

    def curve(self) -> list[tuple[int, float, float, float]]:
        """(update, mean, least, most) of the dev scores; where runs ended at different updates, of those that came so
        far.
        """
        scores = defaultdict[int, list[float]](list)
        for result in self.results:
            for update, _, score, *_ in result.curve:
                scores[update].append(score)
        return [(update, mean(found), min(found), max(found)) for update, found in sorted(scores.items())]


def _median(values: Iterable[float | None]) -> float | None:
    """Of those that are known."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def mean_and_spread(values: Sequence[float], form: str = ".2f") -> str:
    """38.37 ± 0.21"""
    if not values:
        return NONE
    around = spread(values)
    return f"{mean(values):{form}}" + ("" if around is None else f" ± {around:{form}}")


def figure_values(figure: Figure) -> dict[str, Any]:
    """As JSON values."""
    found = figure.difference
    told: dict[str, Any] = {"mean": figure.mean, "spread": figure.spread, "interval": list(figure.interval)}
    told |= {"values": list(figure.values), "intervals": [list(one) for one in figure.intervals]}
    if found is None:
        return {**told, "difference": None, "difference_interval": None, "p_value": None}
    return {
        **told,
        "difference": found.value,
        "difference_interval": list(found.interval),
        "p_value": found.p_value,
    }
