"""Figures of labels and their confusion matrices, each by hand."""

import math

import numpy as np
import pytest

from regard.evaluation import METRICS
from regard.evaluation.accuracy import Accuracy
from regard.evaluation.calibration_error import CalibrationError
from regard.evaluation.confusion import confusion_of
from regard.evaluation.f1 import F1
from regard.evaluation.metric import corpus_of
from regard.evaluation.significance import confidence_interval
from regard.registry import Choice

RIGHT = ["a", "a", "a", "b", "b", "c"]
GIVEN = ["a", "a ", "b", "b", "d", "a"]  # "d" is no class of the references


def test_accuracy_counts_right_labels():
    assert Accuracy().score(GIVEN, RIGHT).value == pytest.approx(100 * 3 / 6)


@pytest.mark.parametrize(
    ("average", "value"),
    [
        ("macro", (2 * 2 / 6 + 2 * 1 / 4 + 0) / 3),  # a: 2 right, 3 given, 3 wanted; b: 1, 2, 2; c: 0, 0, 1
        ("weighted", (3 * 2 * 2 / 6 + 2 * 2 * 1 / 4 + 0) / 6),
        ("micro", 3 / 6),
    ],
)
def test_f1_by_hand(average, value):
    assert F1(average=average).score(GIVEN, RIGHT).value == pytest.approx(100 * value)


def test_f1_is_a_figure_of_sums():
    """Resampling an example twice is the same as having it twice."""
    metric = F1()
    once = metric.statistics(corpus_of(GIVEN, RIGHT))
    twice = metric.score(GIVEN + GIVEN[:1], RIGHT + RIGHT[:1]).value
    assert metric.value(once.sum(axis=0) + once[0]) == pytest.approx(twice)


@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
def test_resampled_figures_are_those_of_the_examples_drawn(average):
    """A class that no example drawn is of, and that none is given, is no part of the mean."""
    metric, given, right = F1(average=average), [*"aaabac"], [*"aaabbc"]
    statistics = metric.statistics(corpus_of(given, right))
    for drawn in ([0, 1, 1, 2], [0, 3, 3, 5], [1, 3, 4, 4], [5, 5, 5, 5]):
        again = metric.score([given[at] for at in drawn], [right[at] for at in drawn])
        assert metric.value(statistics[drawn].sum(axis=0)) == pytest.approx(again.value)


@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
def test_what_is_all_right_has_an_interval_of_nothing(average):
    labels = ["a"] * 99 + ["b"]  # a third of the resampled sets lack "b"
    interval = confidence_interval(F1(average=average), labels, labels, resamples=200)
    assert (interval.low, interval.high) == (100.0, 100.0)


def test_a_class_that_is_only_given_counts_as_never_right():
    """Drawn: one of a, given b. Both classes have an F1 of 0, and a second one of a that is right helps one alone."""
    metric = F1()
    statistics = metric.statistics(corpus_of(["b", "a", "b"], ["a", "a", "b"]))
    assert metric.value(statistics[0]) == 0.0
    assert metric.value(statistics[:2].sum(axis=0)) == pytest.approx(100 * (2 * 1 / (1 + 2) + 0) / 2)


def test_calibration_error_by_hand():
    """Two bins: 0.6 and 0.8 of which one is right, or both, and 0.3 which is wrong."""
    metric, scores = CalibrationError(bins=2), tuple(map(math.log, (0.6, 0.8, 0.3)))
    for right, wrong_by in ((["a", "a", "b"], 0.6 + 0.8 - 1), (["a", "b", "b"], 2 - 0.6 - 0.8)):
        corpus = corpus_of(["a", "b", "a"], right)._replace(scores=scores)
        value = metric.value(metric.statistics(corpus).sum(axis=0))
        assert value == pytest.approx(100 * (wrong_by + 0.3) / 3)


def test_probabilities_that_say_how_often_they_are_right_have_no_error():
    """Of a thousand answers each is right as often as it says."""
    draws = np.random.default_rng(3)
    given = draws.uniform(0.5, 1.0, 20_000)
    right = draws.uniform(size=len(given)) < given
    corpus = corpus_of(["a"] * len(given), np.where(right, "a", "b").tolist())._replace(scores=tuple(np.log(given)))
    metric = CalibrationError()
    assert metric.value(metric.statistics(corpus).sum(axis=0)) < 1.0


# Confusion matrices and the figures of each class, counted by hand


WANTED = ["a", "a", "a", "a", "b", "b", "c"]
ANSWERED = ["a", "a", "b", "d", "b", "a", "b"]  # d is no right label of any example


def test_counts_by_hand():
    found = confusion_of(ANSWERED, WANTED)
    assert found.labels == ("a", "b", "c", "d")
    assert found.counts.tolist() == [[2, 1, 0, 1], [1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert found.shares() == [[0.5, 0.25, 0.0, 0.25], [0.5, 0.5, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0] * 4]


def test_figures_of_each_class_by_hand():
    a, b, c, d = confusion_of(ANSWERED, WANTED).classes()
    assert (a.precision, a.recall, a.f1, a.examples) == pytest.approx((200 / 3, 50.0, 400 / 7, 4))
    assert (b.precision, b.recall, b.f1, b.examples) == pytest.approx((100 / 3, 50.0, 40.0, 2))
    assert (c.precision, c.recall, c.f1, c.examples) == (None, 0.0, 0.0, 1)  # never answered
    assert (d.precision, d.recall, d.f1, d.examples) == (0.0, None, 0.0, 0)  # never right


def test_the_mean_of_the_classes_is_the_metric():
    draw = np.random.default_rng(3)
    wanted, given = (draw.choice(list("abcd"), size=200, p=[0.6, 0.2, 0.15, 0.05]).tolist() for _ in range(2))
    metric = METRICS.build(Choice("f1"))
    figure = metric.value(metric.statistics(corpus_of(given, wanted)).sum(axis=0))
    assert figure == pytest.approx(np.mean([one.f1 for one in confusion_of(given, wanted).classes()]))


def test_spaces_around_labels_do_not_matter():
    assert confusion_of(["a ", " b"], ["a", "b"]).counts.tolist() == [[1, 0], [0, 1]]


def test_nothing_has_no_classes():
    assert confusion_of([], []).values() == {"labels": [], "counts": [], "classes": []}
