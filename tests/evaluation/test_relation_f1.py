"""The official score of SemEval-2010 task 8, against confusion matrices made by hand."""

import numpy as np
import pytest

from regard.errors import ConfigError
from regard.evaluation import METRICS
from regard.evaluation.metric import corpus_of
from regard.evaluation.relation_f1 import RelationF1
from regard.evaluation.significance import confidence_interval
from regard.registry import Choice

CAUSE, EFFECT, PART, WHOLE, OTHER = "C-E(e1,e2)", "C-E(e2,e1)", "C-W(e1,e2)", "C-W(e2,e1)", "Other"
LABELS = [CAUSE, EFFECT, PART, WHOLE, OTHER]
CONFUSION = [  # a row for each right label, a column for each given one
    [5, 1, 0, 2, 1],
    [2, 4, 1, 0, 0],
    [0, 0, 3, 0, 2],
    [1, 0, 0, 6, 0],
    [0, 3, 1, 1, 7],
]


def texts(confusion: list[list[int]]) -> tuple[list[str], list[str]]:
    cells = [(given, right, count) for right, row in zip(LABELS, confusion, strict=True)
             for given, count in zip(LABELS, row, strict=True)]  # fmt: skip
    return [given for given, _, count in cells for _ in range(count)], [
        right for _, right, count in cells for _ in range(count)
    ]


def f1(right: int, given: int, wanted: int) -> float:
    precision, recall = right / given, right / wanted
    return 2 * precision * recall / (precision + recall)


def test_a_confusion_matrix_by_hand():
    """C-E: 9 right of 5+1+2+4+1+3 = 16 given and 9+7 = 16 wanted; C-W: 9 right of 14 given and 5+7 = 12 wanted."""
    cause, whole = f1(9, 16, 16), f1(9, 14, 12)
    assert RelationF1().score(*texts(CONFUSION)).value == pytest.approx(100 * (cause + whole) / 2)


def test_a_wrong_direction_is_wrong_for_precision_and_recall():
    """One of two is right: precision and recall are both 1/2. As two classes each would have a recall of its own."""
    assert RelationF1().score([CAUSE, CAUSE], [CAUSE, EFFECT]).value == pytest.approx(50.0)


def test_what_is_no_relation_is_left_out_of_the_mean():
    """Right answers of Other add nothing; a relation given in its place costs precision."""
    assert RelationF1().score([OTHER, CAUSE], [OTHER, CAUSE]).value == pytest.approx(100.0)
    assert RelationF1().score([CAUSE, CAUSE], [OTHER, CAUSE]).value == pytest.approx(100 * f1(1, 2, 1))
    assert RelationF1().score([OTHER] * 2, [OTHER, CAUSE]).value == 0.0
    assert RelationF1(none="C-E").score([OTHER, CAUSE], [OTHER, CAUSE]).value == pytest.approx(100.0)


def test_only_no_relations_have_a_score_of_zero():
    assert RelationF1().score([OTHER, CAUSE], [OTHER, OTHER]).value == 0.0


def test_it_is_a_figure_of_sums():
    metric, (given, right) = RelationF1(), texts(CONFUSION)
    corpus = corpus_of(given, right)
    statistics = metric.statistics(corpus)
    drawn = np.random.default_rng(5).integers(len(given), size=len(given))
    again = metric.score([*given, *(given[at] for at in drawn)], [*right, *(right[at] for at in drawn)])
    assert metric.value(statistics.sum(axis=0) + statistics[drawn].sum(axis=0)) == pytest.approx(again.value)
    assert metric.signature(corpus) == "average:macro|relations:2|left out:Other"


def test_a_relation_that_no_example_drawn_has_is_no_part_of_the_mean():
    metric, right = RelationF1(), [CAUSE, PART, OTHER]
    statistics = metric.statistics(corpus_of([CAUSE, CAUSE, OTHER], right))
    assert metric.value(statistics[[0, 0, 2]].sum(axis=0)) == pytest.approx(100.0)
    assert metric.value(statistics[[0, 1, 2]].sum(axis=0)) == pytest.approx(100 * (f1(1, 2, 1) + 0) / 2)
    interval = confidence_interval(metric, right + [CAUSE] * 50, right + [CAUSE] * 50, resamples=100)
    assert (interval.low, interval.high) == (100.0, 100.0)


def test_an_unknown_setting_is_told():
    with pytest.raises(ConfigError, match="there is no such setting"):
        METRICS.build(Choice("relation_f1", {"other": "none"}))
