"""Figures of the probabilities of labels: equal to scikit-learn's, and by hand."""

import math

import numpy as np
import pytest

from regard.errors import RegardError
from regard.evaluation import METRICS, interval_of
from regard.evaluation.metric import corpus_of
from regard.evaluation.significance import compare_statistics
from regard.registry import Choice

NAMES = ["brier", "log_loss", "roc_auc"]


def built(name):
    return METRICS.build(Choice(name))


def corpus(labels, seed, count=80, *, ties=False):
    """Right labels, and probabilities that prefer them a little."""
    draws = np.random.default_rng(seed)
    right = [*labels, *draws.choice([*labels], count - len(labels))]
    chances = draws.dirichlet([0.5] * len(labels), count) * 0.7
    chances[range(count), [labels.index(label) for label in right]] += 0.3
    chances = np.round(chances, 1) + 0.0 if ties else chances
    given = [dict(zip(labels, row, strict=True)) for row in chances.tolist()]
    texts = [max(one, key=one.get) for one in given]
    return corpus_of(texts, right)._replace(probabilities=tuple(given)), right, chances


def value(name, some):
    metric = built(name)
    return metric.value(metric.statistics(some).sum(axis=0))


@pytest.mark.parametrize("labels", ["ab", "abcd"])
@pytest.mark.parametrize("seed", range(3))
def test_figures_are_those_of_scikit_learn(labels, seed):
    theirs = pytest.importorskip("sklearn.metrics")
    some, right, chances = corpus(labels, seed)
    assert value("log_loss", some) == pytest.approx(theirs.log_loss(right, chances, labels=[*labels]))
    if len(labels) == 2:
        area = theirs.roc_auc_score(right, chances[:, 1])
        error = theirs.brier_score_loss(right, chances[:, 1], pos_label="b")
    else:
        area = theirs.roc_auc_score(right, chances, multi_class="ovr", average="macro")
        error = theirs.brier_score_loss(right, chances, labels=[*labels])
    assert value("roc_auc", some) == pytest.approx(100 * area)
    assert value("brier", some) == pytest.approx(100 * error)


def test_equal_scores_count_half_as_in_scikit_learn():
    theirs = pytest.importorskip("sklearn.metrics")
    some, right, chances = corpus("ab", 3, ties=True)
    assert len({*chances[:, 1]}) < 12
    assert value("roc_auc", some) == pytest.approx(100 * theirs.roc_auc_score(right, chances[:, 1]))


def test_a_probability_of_zero_costs_what_it_costs_in_scikit_learn():
    theirs = pytest.importorskip("sklearn.metrics")
    some = corpus_of(["a", "b"], ["b", "b"])._replace(probabilities=({"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 1.0}))
    found = value("log_loss", some)
    assert math.isfinite(found)
    assert found == pytest.approx(theirs.log_loss(["b", "b"], [[1.0, 0.0], [0.0, 1.0]], labels=["a", "b"]))


def test_figures_by_hand():
    """Positive "b": 0.8 and 0.4; negative: 0.5 and 0.1: three of four pairs are in order."""
    scores, right = [0.8, 0.4, 0.5, 0.1], [*"bbaa"]
    given = tuple({"a": 1 - one, "b": one} for one in scores)
    some = corpus_of([*"baab"], right)._replace(probabilities=given)
    assert value("roc_auc", some) == pytest.approx(75)
    assert value("brier", some) == pytest.approx(100 * (0.2**2 + 0.6**2 + 0.5**2 + 0.1**2) / 4)
    assert value("log_loss", some) == pytest.approx(-math.log(0.8 * 0.4 * 0.5 * 0.9) / 4)


def test_an_unknown_right_label_has_no_probability():
    some = corpus_of(["a"], ["x"])._replace(probabilities=({"a": 0.5, "b": 0.5},))
    assert value("log_loss", some) == pytest.approx(52 * math.log(2))
    assert value("brier", some) == pytest.approx(100 * (0.25 + 0.25 + 1) / 2)


def test_the_interval_of_an_area_is_that_of_resampled_areas():
    """DeLong's placements, resampled, beside areas that are computed anew of each sample."""
    theirs = pytest.importorskip("sklearn.metrics")
    some, right, chances = corpus("ab", 4, count=200)
    found = interval_of(built("roc_auc"), built("roc_auc").statistics(some))
    draws = np.random.default_rng(1).integers(0, len(right), (1000, len(right)))
    areas = [theirs.roc_auc_score(np.array(right)[draw], chances[draw, 1]) for draw in draws]
    assert found == pytest.approx(100 * np.percentile(areas, [2.5, 97.5]), abs=1.5)


@pytest.mark.parametrize("name", NAMES)
def test_a_better_system_is_better_in_pairs(name):
    some, right, _ = corpus("abc", 5, count=200)
    sure = tuple({one: 0.8 if one == label else 0.1 for one in "abc"} for label in right)
    metric = built(name)
    tables = [metric.statistics(one) for one in (some, some._replace(probabilities=sure))]
    test = compare_statistics(metric, *tables, metric.signature(some), resamples=200)
    assert (test.difference > 0) is metric.higher_is_better
    assert test.p_value == pytest.approx(2 / 201)
    same = compare_statistics(metric, tables[0], tables[0], "", resamples=50)
    assert (same.difference, same.interval, same.p_value) == (0, (0, 0), 1)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("probabilities", [None, ({"a": 0.5, "b": 0.5}, {})], ids=["a file", "one answer"])
def test_answers_without_probabilities_are_refused(name, probabilities):
    some = corpus_of(["a", "b"], ["a", "b"])._replace(probabilities=probabilities)
    with pytest.raises(RegardError, match="needs the probability of every label") as error:
        built(name).statistics(some)
    assert str(error.value).count("\n") == 0


def test_references_of_one_label_have_no_area():
    with pytest.raises(RegardError, match="the references have only 'a'"):
        built("roc_auc").check(["a", "a "])


@pytest.mark.parametrize(("alias", "row"), [("AUROC", "roc_auc"), ("auc", "roc_auc"), ("brier_score", "brier")])
def test_other_names(alias, row):
    assert METRICS.find(alias) == Choice(row)
