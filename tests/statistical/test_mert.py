"""Minimum error rate training against a grid, and BLEU of sums against sacrebleu."""

import numpy as np
import pytest

from regard.evaluation import METRICS
from regard.evaluation.metric import corpus_of
from regard.registry import Choice
from regard.statistical.mert import (
    CandidateStatistics,
    bleu_values,
    figures_along,
    line_search,
    minimise_errors,
    random_search,
)


def drawn_candidates(seed, sentences=12, features=3):
    """Random features, and statistics whose first entry is the gain of a candidate."""
    draws = np.random.default_rng(seed)
    sizes = draws.integers(1, 9, sentences)
    return CandidateStatistics.of([draws.normal(size=(size, features)) for size in sizes],
                         [draws.normal(size=(size, 2)) for size in sizes])  # fmt: skip


def gains(sums):
    return sums[:, 0]


def slow_value(candidates, weights):
    """Choose for each sentence by itself."""
    total = 0.0
    for features, statistics, mask in zip(*candidates, strict=True):
        scores = [features[row] @ weights if mask[row] else -np.inf for row in range(len(mask))]
        total += statistics[int(np.argmax(scores)), 0]
    return total


@pytest.mark.parametrize("seed", range(10))
def test_figures_along_a_line_are_those_of_every_place(seed):
    """The figure of each place of a fine grid is that of its stretch, and no place has a better one than the best."""
    candidates, draws = drawn_candidates(seed), np.random.default_rng(seed)
    weights, direction = draws.normal(size=(2, 3))
    bends, figures = figures_along(candidates, weights, direction, gains)
    assert len(figures) == len(bends) + 1 and (np.diff(bends) >= 0).all()
    grid = np.linspace(bends[0] - 1, bends[-1] + 1, 997)
    slow = [slow_value(candidates, weights + place * direction) for place in grid]
    assert slow == pytest.approx(figures[np.searchsorted(bends, grid)])
    best = line_search(candidates, weights, direction, gains)
    assert best.value >= max(slow) - 1e-9
    assert slow_value(candidates, best.weights) == pytest.approx(best.value)


def test_a_line_is_searched_within_its_bounds():
    draws = np.random.default_rng(5)
    for seed in range(20):
        candidates = drawn_candidates(seed)
        weights, direction = draws.normal(size=(2, 3))
        low, high = -draws.uniform(0, 1), draws.uniform(0, 1)
        best = line_search(candidates, weights, direction, gains, (low, high))
        (step,) = {round(float(one), 9) for one in (best.weights - weights) / direction}
        assert low <= step <= high
        grid = [slow_value(candidates, weights + place * direction) for place in np.linspace(low, high, 300)]
        assert best.value >= max(grid) - 1e-9
        assert slow_value(candidates, best.weights) == pytest.approx(best.value)


def test_a_line_by_hand():
    """One sentence: scores γ, 1 and 3 - γ, so the third wins left of 1.5 and the first right of it."""
    features = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, -1.0]])
    candidates = CandidateStatistics.of([features], [np.array([[10.0], [50.0], [20.0]])])
    bends, figures = figures_along(candidates, np.array([1.0, 0.0]), np.array([0.0, 1.0]), gains)
    assert (bends.tolist(), figures.tolist()) == ([1.5], [20.0, 10.0])
    best = line_search(candidates, np.array([1.0, 0.0]), np.array([0.0, 1.0]), gains)
    assert best.value == 20 and best.weights[1] < 1.5


def test_without_a_bend_weights_stay():
    candidates = CandidateStatistics.of([np.ones((1, 2))], [np.array([[3.0]])])
    found = line_search(candidates, np.array([1.0, 2.0]), np.array([0.0, 1.0]), gains)
    assert (found.weights.tolist(), found.value) == ([1.0, 2.0], 3.0)


@pytest.mark.parametrize("search", [minimise_errors, random_search])
def test_the_best_weights_are_no_worse_than_those_given(search):
    for seed in range(5):
        candidates, weights = drawn_candidates(seed, sentences=40), np.array([0.5, 0.3, -0.2])
        before = slow_value(candidates, weights)
        found = search(candidates, weights, gains, seed=seed)
        assert found.value >= before
        assert slow_value(candidates, found.weights) == pytest.approx(found.value)
        assert np.abs(found.weights).sum() == pytest.approx(1)
        assert np.array_equal(search(candidates, weights, gains, seed=seed).weights, found.weights)


def test_restarts_find_more():
    drawn = [drawn_candidates(seed, sentences=60, features=5) for seed in range(5)]
    weights = np.full(5, 0.2)
    alone, several = (
        sum(minimise_errors(one, weights, gains, restarts=count).value for one in drawn) for count in (0, 20)
    )
    assert several > alone


def test_bleu_of_sums_is_sacrebleu():
    bleu, draws = METRICS.build(Choice("bleu")), np.random.default_rng(1)
    texts, references = ([" ".join(draws.choice([*"abcde"], size)) for size in draws.integers(4, 12, 30)] for _ in "ab")
    statistics = bleu.statistics(corpus_of(texts, references))
    rows = np.stack([statistics[:count].sum(axis=0) for count in (15, 20, 30)])
    assert bleu_values(rows) == pytest.approx([bleu.value(row) for row in rows])
    assert bleu_values(np.zeros((1, 10))).tolist() == [0.0]
