"""The bag of words: ratios of naive Bayes and logistic regression as scikit-learn computes them."""

import numpy as np
import pytest
import torch

from regard.statistical.bag_of_words import BagOfWordsClassifier, word_grams
from regard.statistical.feature_counts import FeatureCounts

WORDS = ["the", "a", "fine", "dull", "film", "long", "plot", "witty", "slow", "good"]


def drawn(labels, seed=1, count=60):
    """_Columns whose words depend a little on their label."""
    draws = np.random.default_rng(seed)
    right = [*labels, *draws.choice([*labels], count - len(labels))]
    shares = {label: draws.dirichlet(np.ones(len(WORDS))) for label in labels}
    return [[" ".join(draws.choice(WORDS, 6, p=shares[label]))] for label in right], right


def presence(texts, known):
    return np.array([[float(one in {*word_grams(text)}) for one in known] for text in texts])


def test_features_are_words_and_pairs_of_each_column():
    assert [*word_grams(["A fine a fine"])] == ["0 a", "0 fine", "0 a fine", "0 fine a"]
    assert [*word_grams(["a", "a"])] == ["0 a", "1 a"]


def test_ratios_are_those_of_naive_bayes():
    bayes = pytest.importorskip("sklearn.naive_bayes")
    texts, right = drawn("ab")
    known = [*sorted({one for text in texts for one in word_grams(text)}), "never seen"]
    table = presence(texts, known)
    oracle = bayes.MultinomialNB(alpha=1.0).fit(table, right).feature_log_prob_
    rows, ids = map(torch.from_numpy, np.nonzero(table))
    labels = torch.tensor([[label == "b"] for label in right])
    counts = FeatureCounts(len(known), 1, dtype=torch.float64)
    for some in (rows < 20, rows >= 20):  # two batches
        counts.add(ids[some], rows[some], labels)
    *found, never = counts.log_count_ratios().squeeze(1).tolist()
    assert found == pytest.approx((oracle[1] - oracle[0])[:-1])
    assert never == 0


@pytest.mark.parametrize("labels", ["ab", "abc"])
@pytest.mark.parametrize("c", [1.0, 0.1])
def test_probabilities_are_those_of_scikit_learn(labels, c):
    linear, bayes = (pytest.importorskip(f"sklearn.{name}") for name in ("linear_model", "naive_bayes"))
    texts, right = drawn(labels)
    known = sorted({one for text in texts for one in word_grams(text)})
    table, others = presence(texts, known), drawn(labels, 2)[0]
    columns = []
    for label in labels:
        targets = [one == label for one in right]
        logs = bayes.MultinomialNB(alpha=1.0).fit(table, targets).feature_log_prob_
        ratios = logs[1] - logs[0]
        model = linear.LogisticRegression(C=c, tol=1e-8, max_iter=10_000).fit(table * ratios, targets)
        columns.append(model.predict_proba(presence(others, known) * ratios)[:, 1])
    oracle = np.stack(columns, axis=1)
    found = BagOfWordsClassifier.fit(texts, right, c=c, steps=500)
    assert found.labels == tuple(labels)
    oracle = oracle / oracle.sum(axis=1, keepdims=True)
    assert found.probabilities(others) == pytest.approx(oracle, abs=1e-4)


def test_a_word_that_decides_is_learnt_and_an_unknown_one_changes_nothing():
    texts = [[f"a {word} film {number}"] for number in range(10) for word in ("good", "bad")]
    found = BagOfWordsClassifier.fit(texts, ["good", "bad"] * 10)
    good, known, unknown, empty = found.probabilities([["good"], ["bad film"], ["bad film zebra"], [""]])
    assert good[found.labels.index("good")] > 0.7
    assert known == pytest.approx(unknown)
    assert empty == pytest.approx(0.5, abs=0.01)


def test_columns_have_features_of_their_own():
    pairs = [[f"{one} {number}", f"{other} {number}"] for number in range(8) for one, other in (("x", "y"), ("y", "x"))]
    found = BagOfWordsClassifier.fit(pairs, ["first", "second"] * 8)
    assert found.probabilities([["x", "y"], ["y", "x"]]).argmax(axis=1).tolist() == [0, 1]
