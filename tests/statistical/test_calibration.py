"""Calibrations: what they find in drawn answers, and what every row of the table keeps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from regard.registry import Choice
from regard.statistical.calibration import CALIBRATIONS
from regard.statistical.calibration.calibration import normalised


def drawn(temperature, *, bias=(0.0, 0.0, 0.0), items=40_000):
    """Probabilities (item, 3) with too little heat or too much, and right choices drawn from the true ones."""
    draws = np.random.default_rng(1)
    scores = draws.normal(scale=2.0, size=(items, 3))
    true = normalised(scores)
    right = (draws.uniform(size=(items, 1)) > true.cumsum(axis=1)).sum(axis=1)
    return normalised((scores - np.array(bias)) * temperature), right


def loss(calibration, probabilities, right):
    return -np.log(np.take_along_axis(calibration.apply(probabilities), right[:, None], axis=1)).mean()


@pytest.mark.parametrize("name", CALIBRATIONS)
@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_a_known_temperature_is_found(name, temperature):
    found = CALIBRATIONS.build(Choice(name)).fitted(*drawn(temperature))
    assert found.values()["temperature"] == pytest.approx(temperature, rel=0.03)


def test_the_temperature_is_the_likeliest():
    """No other is, as a grid of them tells."""
    probabilities, right = drawn(2.2, items=500)
    found = CALIBRATIONS.build(Choice("temperature")).fitted(probabilities, right)
    best = loss(found, probabilities, right)
    for other in np.linspace(0.5, 5.0, 40):
        assert best <= loss(CALIBRATIONS.build(Choice("temperature", {"temperature": other})), probabilities, right)


def test_known_biases_are_found():
    bias = np.array([1.0, -0.4, -0.6])  # their mean is 0, as that of what is found
    found = CALIBRATIONS.build(Choice("platt")).fitted(*drawn(2.0, bias=bias))
    assert_allclose(found.values()["bias"], bias, atol=0.05)


def test_with_a_bias_choices_are_given_as_often_as_they_are_right():
    """The slope of the likelihood by each bias is 0 there, but for the half square of the bias."""
    probabilities, right = drawn(1.5, bias=(0.5, 0.0, -0.5), items=2000)
    found = CALIBRATIONS.build(Choice("platt")).fitted(probabilities, right)
    given, counts = found.apply(probabilities).sum(axis=0), np.bincount(right)
    assert_allclose(given + np.array(found.values()["bias"]), counts, atol=0.02)


def test_answers_that_are_always_right_have_a_finite_temperature():
    found = CALIBRATIONS.build(Choice("temperature")).fitted(np.array([[0.6, 0.4], [0.9, 0.1]]), np.array([0, 0]))
    assert 0 < found.values()["temperature"] < 0.1


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_nothing_fitted_changes_nothing(name):
    """Bit by bit."""
    probabilities, _ = drawn(0.7, items=50)
    assert CALIBRATIONS.build(Choice(name)).apply(probabilities) is probabilities


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_rows_sum_to_one_and_are_built_again_from_their_values(name):
    probabilities, right = drawn(1.7, items=300)
    found = CALIBRATIONS.build(Choice(name)).fitted(probabilities, right)
    extreme = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
    assert_allclose(found.apply(extreme).sum(axis=1), 1.0)
    again = CALIBRATIONS.build(Choice(name, found.values()))
    assert (again.apply(probabilities) == found.apply(probabilities)).all()


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_an_item_does_not_depend_on_the_others(name):
    probabilities, right = drawn(1.7, items=300)
    found = CALIBRATIONS.build(Choice(name)).fitted(probabilities, right)
    assert_allclose(found.apply(probabilities)[7:9], found.apply(probabilities[7:9]), rtol=1e-12)
