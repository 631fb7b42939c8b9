"""Exact paired tests: equal to scipy's, to all signs and by hand."""

from itertools import product

import numpy as np
import pytest

from regard.evaluation import METRICS
from regard.evaluation.metric import corpus_of
from regard.evaluation.significance import compare_statistics, mcnemar, wilcoxon
from regard.registry import Choice


def outcomes(right):
    return np.array([[one, 1] for one in right], np.float64)


def test_mcnemar_by_hand():
    """Of five that one system alone has right, four are of the first: 2 · (1 + 5) / 2^5."""
    found = mcnemar(outcomes([1, 1, 1, 1, 0, 1, 0]), outcomes([0, 0, 0, 0, 1, 1, 0]))
    assert (found.only_a, found.only_b, found.p_value) == (4, 1, pytest.approx(12 / 32))


@pytest.mark.parametrize("seed", range(5))
def test_mcnemar_is_the_binomial_test_of_scipy(seed):
    stats = pytest.importorskip("scipy.stats")
    draws = np.random.default_rng(seed)
    a, b = draws.integers(0, 2, 300), draws.integers(0, 2 + seed % 2, 300) > 0
    found = mcnemar(outcomes(a), outcomes(b))
    assert (found.only_a, found.only_b) == (int((a & ~b).sum()), int((~a.astype(bool) & b).sum()))
    wanted = stats.binomtest(found.only_a, found.only_a + found.only_b).pvalue
    assert found.p_value == pytest.approx(wanted)


def test_equal_systems_do_not_differ():
    assert mcnemar(outcomes([1, 0]), outcomes([1, 0])).p_value == 1
    assert wilcoxon([0.0, 0.0]) == wilcoxon([]) == 1


@pytest.mark.parametrize("table", [[[0.5, 1]], [[1, 2]], [[1, 1, 0]]], ids=["a loss", "tags", "classes"])
def test_what_is_not_right_or_wrong_has_no_mcnemar(table):
    assert mcnemar(np.array(table, np.float64), np.array(table, np.float64)) is None


@pytest.mark.parametrize(("name", "tested"), [("subset_accuracy", True), ("hamming_loss", False)])
def test_a_loss_of_one_label_is_not_an_outcome(name, tested):
    """Rows of both are 0 or 1 and 1; those of the loss are 1 where the answer is wrong."""
    metric, right = METRICS.build(Choice(name)), ["a", "-", "a"]
    tables = [metric.statistics(corpus_of(given, right)) for given in (right, ["-", "-", "a"])]
    assert (compare_statistics(metric, *tables, "", resamples=20).mcnemar is not None) is tested


@pytest.mark.parametrize("count", [1, 3, 6, 10, 30])
def test_wilcoxon_is_that_of_scipy(count):
    stats = pytest.importorskip("scipy.stats")
    for seed in range(5):
        differences = np.random.default_rng(seed).normal(0.5, 1, count)
        assert wilcoxon(differences) == pytest.approx(stats.wilcoxon(differences, method="exact").pvalue)


@pytest.mark.parametrize("differences", [[1, 1, -1, 2], [0.5, -0.5, 0.0, 3, 3, -1], [2, 2, 2, 2, 2]])
def test_wilcoxon_with_ties_counts_all_signs(differences):
    sizes = [abs(one) for one in differences if one]
    ranks = [sum(other < one for other in sizes) + (sizes.count(one) + 1) / 2 for one in sizes]
    signs = product([0, 1], repeat=len(sizes))
    sums = [sum(rank for rank, sign in zip(ranks, some, strict=True) if sign) for some in signs]
    observed = sum(rank for rank, one in zip(ranks, filter(None, differences), strict=True) if one > 0)
    tails = [sum(one <= observed for one in sums), sum(one >= observed for one in sums)]
    assert wilcoxon(differences) == pytest.approx(min(1, 2 * min(tails) / len(sums)))


def test_ten_folds_that_all_agree_have_the_least_p():
    assert wilcoxon(range(1, 11)) == pytest.approx(2 / 2**10)
