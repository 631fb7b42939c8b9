"""The n best ranked anew: the best is the brute-force argmax of weighted sums, and shares sum to scores."""

from itertools import product
from math import fsum

import numpy as np
import pytest

from regard.errors import TooLongError
from regard.predictor.reranking import Reranker
from regard.recipes.rerank_tuning import best_weights
from regard.results import Prediction, TextPrediction
from regard.statistical.mert import CandidateStatistics, bleu_values

TEXTS = ["ein Hund", "der kleine Hund", "Hund", "Hunde bellen laut"]


def listed(source, draws):
    rows = [TextPrediction(source, text, float(score), [0.0], True) for text, score in zip(TEXTS, draws, strict=True)]
    return TextPrediction(**{**vars(rows[0]), "alternatives": rows[1:]})


def scorer(known):
    return lambda sources, targets, matches: [
        Prediction(source, target, 0.0, known[source, target], True)
        for source, target in zip(sources, targets, strict=True)
    ]


def test_best_is_the_argmax_of_weighted_sums():
    draws = np.random.default_rng(1)
    sources = ["a", "b", "c"]
    given = [listed(source, draws.normal(size=4)) for source in sources]
    known = {pair: draws.normal(size=3).tolist() for pair in product(sources, TEXTS)}
    weight, words = 0.7, -0.3
    found = Reranker(scorer(known), weight, words, 4).ranked(given, 2)
    for before, after in zip(given, found, strict=True):
        sums = {
            one.text: one.score + weight * fsum(known[one.source, one.text]) + words * len(one.text.split())
            for one in [before, *before.alternatives]
        }
        ranked = sorted(sums, key=sums.__getitem__, reverse=True)
        assert [after.text, *(one.text for one in after.alternatives)] == ranked[:2]
        assert after.score == pytest.approx(sums[ranked[0]])
        assert fsum(after.shares.values()) == pytest.approx(after.score)


def test_no_weight_leaves_the_order():
    given = [listed("a", [0.0, -1.0, -2.0, -3.0])]
    known = {("a", text): [float(place)] for place, text in enumerate(TEXTS)}
    (found,) = Reranker(scorer(known), 0.0, 0.0, 4).ranked(given, 4)
    assert [found.text, *(one.text for one in found.alternatives)] == TEXTS


def test_a_text_that_is_too_long_has_its_own_number():
    def refuse(sources, targets, matches):
        raise TooLongError("source", "is too long", line=6)

    with pytest.raises(TooLongError) as caught:
        Reranker(refuse, 1.0, 0.0, 4).ranked([listed("a", range(4)), listed("b", range(4))], 1)
    assert caught.value.line == 2


@pytest.mark.parametrize("method", ["mert", "random"])
def test_weights_are_never_worse_on_the_dev_part_than_the_first_ones(method):
    draws = np.random.default_rng(2)
    features = [draws.normal(size=(6, 3)) for _ in range(12)]
    matches = [draws.integers(1, 5, size=(6, 4)).astype(float) for _ in range(12)]
    statistics = [np.concatenate([np.full((6, 2), 6.0), one, np.full((6, 4), 6.0)], axis=1) for one in matches]
    pool = CandidateStatistics.of(features, statistics)

    def value(weights):
        return bleu_values(pool.chosen(np.array(weights))[None])[0]

    best = best_weights(pool, method, 4, 0.1, lambda line: None)
    assert best[0] == 1.0
    assert value(best) >= max(value([1, 0, 0]), value([1, 0.1, 0]))
    spreads = np.stack([one[:, :2].std(axis=0) for one in features]).mean(axis=0)
    assert value(best) >= value([1, spreads[0] / spreads[1], 0])  # equal shares
