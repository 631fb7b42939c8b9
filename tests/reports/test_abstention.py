"""Curves of what is kept, by hand."""

import math

import numpy as np
import pytest

from regard.reports.confidence import abstention_curve, area_under_risk


class Accuracy:
    """Statistics are (example, 2): right or not, and 1."""

    name, higher_is_better = "accuracy", True

    def value(self, sums):
        return 100 * sums[0] / sums[1]


class Errors(Accuracy):
    """The same of errors."""

    higher_is_better = False


RIGHT = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 1.0], [0.0, 1.0]])
SURE = np.array([0.2, 0.9, 0.6, 0.6])


def test_the_surest_are_kept():
    curve = abstention_curve(Accuracy(), RIGHT, SURE)
    assert [one.answers for one in curve] == [1, 2, 3, 4]
    assert [one.fraction for one in curve] == [0.25, 0.5, 0.75, 1.0]
    assert [one.lowest for one in curve] == [0.9, 0.6, 0.6, 0.2]
    assert [one.value for one in curve] == pytest.approx([100, 100, 200 / 3, 50])


def test_the_area_under_risk():
    curve = abstention_curve(Accuracy(), RIGHT, SURE)
    assert area_under_risk(Accuracy(), curve) == pytest.approx((0 + 0 + 100 / 3 + 50) / 4)
    assert area_under_risk(Errors(), abstention_curve(Errors(), 1 - RIGHT * [1, 0], SURE)) == pytest.approx(
        (0 + 0 + 100 / 3 + 50) / 4
    )


def test_an_order_by_what_is_right_has_the_least_area():
    """Among all orders of four."""
    areas = {
        order: area_under_risk(Accuracy(), abstention_curve(Accuracy(), RIGHT, -np.array(order, dtype=float)))
        for order in np.ndindex(4, 4, 4, 4)
        if len(set(order)) == 4
    }
    assert len(areas) == math.factorial(4)
    best = min(areas.values())
    assert areas[2, 0, 1, 3] == areas[3, 1, 0, 2] == best
    assert areas[0, 2, 3, 1] == areas[1, 3, 2, 0] == max(areas.values())
