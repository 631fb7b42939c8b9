"""The benchmark of coherence, by hand: a judge that knows which sentence comes first."""

import numpy as np
import pytest

from benchmarks import benchmark

coherence = benchmark("coherence")
LINES = [("one", "a"), ("one", "b"), ("one", "c"), ("two", "d"), ("three", "a"), ("three", "a")]


def judge(texts):
    """The share of words that stand where the alphabet has them."""
    pairs = [zip(text.split(), sorted(text.split()), strict=True) for text in texts]
    return [float(np.mean([one == other for one, other in some])) for some in pairs]


def test_windows_end_with_their_documents():
    assert coherence.windows_of(LINES, 2) == [["a", "b"], ["c"], ["d"], ["a", "a"]]


def test_other_orders_are_drawn():
    draws = np.random.default_rng(3)
    assert coherence.orders_of(["a", "b"], draws, 3) == [["b", "a"]] * 3
    assert coherence.orders_of(["a"], draws) == coherence.orders_of(["a", "a"], draws) == []


def test_a_window_is_ranked_among_its_orders():
    """Windows without another order are left out; a tie is half."""
    assert coherence.ranking([["a", "b", "c"], ["d"], ["b", "a"]], judge, 4) == [1.0, 0.0]
    assert coherence.ranking([["a", "b"]], lambda texts: [0.5] * len(texts), 4) == [0.5]


def test_a_sentence_is_judged_among_given_ones():
    found = coherence.rewards(
        [["a", "b"], ["c"]], [["a", "a"], ["x"]], lambda texts: [float(len({*one})) for one in texts]
    )
    assert found == [(3 + 2) / 2, 1.0]


def test_intervals_are_of_the_mean():
    low, high = coherence.interval(np.array([0.0, 1.0] * 50))
    assert low == pytest.approx(0.4, abs=0.02) and high == pytest.approx(0.6, abs=0.02)
