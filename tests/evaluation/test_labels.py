"""Figures of labels and their confusion matrices, each by hand."""

import math

import numpy as np
import pytest

from regard.errors import RegardError
from regard.evaluation import METRICS
from regard.evaluation.accuracy import Accuracy
from regard.evaluation.calibration_error import CalibrationError
from regard.evaluation.confusion import confusion_of
from regard.evaluation.f1 import F1
from regard.evaluation.metric import corpus_of
from regard.evaluation.significance import confidence_interval, paired_bootstrap
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


# Agreement beyond chance, by the definitions: correlations of indicators, and shares by chance


def correlation(given, right):
    """Gorodkin's: covariance of the indicators of all classes / root of their variances."""
    labels = sorted({*given, *right})
    one, other = (np.array([[label == at for at in labels] for label in some], float) for some in (given, right))
    together, alone, also = (np.mean((a - a.mean(0)) * (b - b.mean(0)), axis=0).sum()
                             for a, b in ((one, other), (one, one), (other, other)))  # fmt: skip
    return 100 * together / np.sqrt(alone * also)


def beyond_chance(given, right):
    """Cohen's: what the answers have right more than the same answers in any other order, on average."""
    chance = np.mean([answer == label for answer in given for label in right])
    return 100 * (np.mean([a == b for a, b in zip(given, right, strict=True)]) - chance) / (1 - chance)


AGREEMENT = {"matthews": correlation, "kappa": beyond_chance}


def drawn_labels(labels, seed, count=60):
    """Right labels, and answers that are right half of the time."""
    draws = np.random.default_rng(seed)
    right = draws.choice(list(labels), count)
    return np.where(draws.random(count) < 0.5, right, draws.choice(list(labels), count)).tolist(), right.tolist()


def test_two_classes_by_the_formula_of_true_and_false_positives():
    """6 true and 2 false positives, 9 true and 3 false negatives."""
    given, right = [*"1" * 8, *"0" * 12], [*"1" * 6, *"0" * 2, *"0" * 9, *"1" * 3]
    matthews = (6 * 9 - 2 * 3) / math.sqrt((6 + 2) * (6 + 3) * (9 + 2) * (9 + 3))
    assert METRICS.build(Choice("matthews")).score(given, right).value == pytest.approx(100 * matthews)
    chance = (8 * 9 + 12 * 11) / 20**2
    assert METRICS.build(Choice("kappa")).score(given, right).value == pytest.approx(
        100 * (15 / 20 - chance) / (1 - chance)
    )


@pytest.mark.parametrize("labels", ["ab", "abc", "abcdef"])
@pytest.mark.parametrize("name", AGREEMENT)
def test_agreement_is_as_it_is_defined(name, labels):
    for seed in range(10):
        given, right = drawn_labels(labels, seed)
        given[0] = "no label of the references"
        assert METRICS.build(Choice(name)).score(given, right).value == pytest.approx(AGREEMENT[name](given, right))


@pytest.mark.parametrize("name", AGREEMENT)
def test_agreement_of_resampled_examples_is_that_of_the_examples_drawn(name):
    given, right = drawn_labels("abc", 1)
    metric = METRICS.build(Choice(name))
    statistics = metric.statistics(corpus_of(given, right))
    for seed in range(10):
        drawn = np.random.default_rng(seed).integers(0, len(given), len(given))
        again = AGREEMENT[name]([given[at] for at in drawn], [right[at] for at in drawn])
        assert metric.value(statistics[drawn].sum(axis=0)) == pytest.approx(again)


@pytest.mark.parametrize("name", AGREEMENT)
def test_a_better_system_is_better_in_pairs(name):
    """Of 200 examples one system has all right and one half: all resampled differences are above zero."""
    given, right = drawn_labels("abc", 2, count=200)
    test = paired_bootstrap(METRICS.build(Choice(name)), given, right, right, resamples=200)
    assert (test.b.value, test.p_value) == (pytest.approx(100), pytest.approx(2 / 201))
    assert test.interval.low > 0


@pytest.mark.parametrize("name", AGREEMENT)
def test_answers_of_one_class_agree_no_more_than_by_chance(name):
    metric = METRICS.build(Choice(name))
    assert metric.score([*"aaaa"], [*"aabb"]).value == 0
    assert metric.score([*"aaaa"], [*"aaaa"]).value == 0  # nothing divided by nothing
    assert metric.score([*"bbaa"], [*"aabb"]).value == pytest.approx(-100)


@pytest.mark.parametrize("labels", ["ab", "abcde"])
def test_agreement_is_that_of_scikit_learn(labels):
    theirs = pytest.importorskip("sklearn.metrics")
    given, right = drawn_labels(labels, 5)
    for name, figure in (("matthews", theirs.matthews_corrcoef), ("kappa", theirs.cohen_kappa_score)):
        assert METRICS.build(Choice(name)).score(given, right).value == pytest.approx(100 * figure(right, given))


@pytest.mark.parametrize(("alias", "row"), [("mcc", "matthews"), ("MCC", "matthews"), ("cohens_kappa", "kappa")])
def test_other_names_of_agreement(alias, row):
    assert METRICS.find(alias) == Choice(row)


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


@pytest.mark.parametrize(("settings", "label"), [({}, "b"), ({"label": "a"}, "a")])
def test_f1_of_one_label_is_that_of_scikit_learn(settings, label):
    theirs = pytest.importorskip("sklearn.metrics")
    given, right = drawn_labels("ab", 7)
    found = METRICS.build(Choice("binary_f1", settings)).score(given, right)
    assert found.value == pytest.approx(100 * theirs.f1_score(right, given, pos_label=label))
    assert found.signature == f"label:{label}"


@pytest.mark.parametrize(
    ("settings", "references", "count"), [({}, "abc", 3), ({"label": "x"}, "ab", 2), ({}, "aa", 1)]
)
def test_f1_of_a_label_that_is_not_clear_is_refused(settings, references, count):
    with pytest.raises(RegardError, match=rf"have {count}, such as 'a'; evaluation.metrics=.*label: a\}}"):
        METRICS.build(Choice("binary_f1", settings)).check([*references])
