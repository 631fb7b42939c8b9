"""Figures of rows of numbers: each by hand."""

import numpy as np
import pytest

from regard.evaluation.metric import corpus_of
from regard.evaluation.within_tolerance import WithinTolerance
from regard.evaluation.wrong_bits import WrongBits

RIGHT = ["0.5", "1 0", "1 0; 0 1", "0.25"]


@pytest.mark.parametrize(
    ("given", "tolerance", "right"),
    [
        (["0.5", "1 0", "1 0; 0 1", "0.25"], 0.04, 4),
        (["0.539", "0.97 0.03", "1 0; 0 0.95", "0.2"], 0.04, 2),
        (["0.539", "0.97 0.03", "1 0; 0 0.95", "0.2"], 0.06, 4),
        (["0.54", "1", "1 0", "0.25; 0.25"], 0.04, 0),  # 0.04 is no longer within; other shapes are wrong
    ],
)
def test_answers_count_that_are_near_in_every_number(given, tolerance, right):
    assert WithinTolerance(tolerance=tolerance).score(given, RIGHT).value == pytest.approx(100 * right / 4)


def test_the_nearest_of_several_references_counts():
    assert WithinTolerance().score(["0.5", "0.1"], [["0.9", "0.51"], ["0.2"]]).value == 50
    assert WrongBits().score(["1 1 1"], [["0 0 0", "1 1 0"]]).value == 1


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ("1 0; 0 1", 0),
        ("0.51 0.5; 0.4 2", 0),  # 1 above 0.5
        ("0 0; 1 1", 2),
        ("1 0", 2),  # two bits are missing
        ("1 0; 0 1; 1 1", 2),  # two are too many
        ("0 1", 4),
    ],
)
def test_bits_that_are_wrong_missing_or_too_many(given, wrong):
    assert WrongBits().score([given, "1"], ["1 0; 0 1", "1"]).value == wrong / 2


@pytest.mark.parametrize(("given", "right"), [("1 1", "none"), ("none", "1 1"), ("", "1 1")])
def test_what_is_no_numbers_is_wrong(given, right):
    assert WithinTolerance().score([given], [right]).value == 0
    assert WrongBits().score([given], [right]).value == 2


@pytest.mark.parametrize("metric", [WithinTolerance(), WrongBits()])
def test_figures_are_of_sums(metric):
    given, right = ["0.5", "0 1", "1 0; 0 1"], RIGHT[:3]
    once = metric.statistics(corpus_of(given, right))
    assert once.shape == (3, 2)
    twice = metric.score([*given, given[1]], [*right, right[1]]).value
    assert metric.value(once.sum(axis=0) + once[1]) == pytest.approx(twice)
    assert metric.value(np.zeros(2)) == 0
