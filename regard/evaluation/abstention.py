"""What is kept when the least sure answers are withheld: curves of risk and coverage, https://arxiv.org/abs/1705.08500."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.arrays import Floats
from regard.evaluation.metric import Measure, Statistics


class CoveragePoint(NamedTuple):
    """The surest answers."""

    answers: int
    share: float  # of all
    least: float  # confidence among them
    value: float  # the figure of a measure


def surest_first(confidences: Floats) -> NDArray[np.int64]:
    """confidences (example,) → the examples by falling confidence, equal ones in their order."""
    return np.argsort(-confidences, kind="stable")


def abstention_curve(measure: Measure, statistics: Statistics, confidences: Floats) -> list[CoveragePoint]:
    """statistics (example, statistic), confidences (example,) → the figure of the 1, 2 … all surest examples."""
    order = surest_first(confidences)
    sums = statistics[order].cumsum(axis=0)
    return [
        CoveragePoint(count, count / len(order), float(confidences[order[count - 1]]), measure.value(sums[count - 1]))
        for count in range(1, len(order) + 1)
    ]


def area_under_risk(measure: Measure, curve: Sequence[CoveragePoint]) -> float:
    """Return AURC: the mean over all shares kept of what a figure lacks to 100; of itself where less is better.

    With answers withheld at random it is about the risk of all.
    """
    risks = [one.value if measure.higher_is_better is False else 100 - one.value for one in curve]
    return sum(risks) / len(risks)
