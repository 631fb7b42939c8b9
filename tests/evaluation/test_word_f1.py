"""F1 of words by hand."""

import pytest

from regard.evaluation.metric import corpus_of
from regard.evaluation.word_f1 import WordF1

CASES = [
    ("kitchen", "kitchen", 1.0),
    ("the Kitchen.", "kitchen", 1.0),  # articles, case and punctuation do not count
    ("big red house", "red house", 2 * 2 / (3 + 2)),
    ("red red", "red", 2 * 1 / (2 + 1)),  # a bag: the second one is right for nothing
    ("garden", "kitchen", 0.0),
    ("", "kitchen", 0.0),
    ("the", "a", 1.0),  # no words on both sides
]


@pytest.mark.parametrize(("given", "wanted", "value"), CASES)
def test_one_answer_by_hand(given, wanted, value):
    assert WordF1().score([given], [wanted]).value == pytest.approx(100 * value)


def test_a_corpus_has_the_mean_and_not_f1_of_sums():
    given, wanted, values = zip(*CASES, strict=True)
    assert WordF1().score(given, wanted).value == pytest.approx(100 * sum(values) / len(values))


def test_the_nearest_reference_counts():
    assert WordF1().score(["red house"], [["blue car", "house", "a red house"]]).value == pytest.approx(100)


def test_articles_count_where_asked_for():
    assert WordF1(articles=True).score(["the house"], ["house"]).value == pytest.approx(100 * 2 / 3)
    assert "articles:counted" in WordF1(articles=True).signature(corpus_of(["a"], ["a"]))
