"""Confusion matrices and the figures of each class, counted by hand."""

import numpy as np
import pytest

from regard.evaluation import METRICS
from regard.evaluation.confusion import confusion_of
from regard.evaluation.metric import corpus_of
from regard.registry import Choice

RIGHT = ["a", "a", "a", "a", "b", "b", "c"]
GIVEN = ["a", "a", "b", "d", "b", "a", "b"]  # d is no right label of any example


def test_counts_by_hand():
    found = confusion_of(GIVEN, RIGHT)
    assert found.labels == ("a", "b", "c", "d")
    assert found.counts.tolist() == [[2, 1, 0, 1], [1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert found.shares() == [[0.5, 0.25, 0.0, 0.25], [0.5, 0.5, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0] * 4]


def test_figures_of_each_class_by_hand():
    a, b, c, d = confusion_of(GIVEN, RIGHT).classes()
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
