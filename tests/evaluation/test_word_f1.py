"""F1 of words by hand, and by the rule that SQuAD publishes."""

import itertools
import re

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


def squad(given: str, wanted: str) -> float:
    """Lower case, no ASCII signs, no articles, single spaces; then the F1 of the bags of words."""
    bags = []
    for text in (given, wanted):
        plain = "".join(one for one in text.lower() if one not in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
        bags.append(re.sub(r"\b(a|an|the)\b", " ", plain).split())
    both = sum(min(bags[0].count(word), bags[1].count(word)) for word in {*bags[0]})
    if not all(bags):
        return float(bags[0] == bags[1])
    precision, recall = both / len(bags[0]), both / len(bags[1])
    return 2 * precision * recall / (precision + recall) if both else 0.0


TEXTS = [
    "$100",
    "100",
    "100 + the rest",
    "a rest",
    "x^2 = |y|",
    "x2 y",
    "<the end>",
    "End `now`",
    "~5",
    "5",
    "+",
    "",
    "it's",
]


def test_it_is_the_rule_of_squad():
    for given, wanted in itertools.product(TEXTS, repeat=2):
        assert WordF1().score([given], [wanted]).value == pytest.approx(100 * squad(given, wanted)), (given, wanted)


def test_punctuation_of_other_scripts_does_not_count():
    assert WordF1().score(["«maison»"], ["maison"]).value == 100.0


def test_a_corpus_has_the_mean_and_not_f1_of_sums():
    given, wanted, values = zip(*CASES, strict=True)
    assert WordF1().score(given, wanted).value == pytest.approx(100 * sum(values) / len(values))


def test_the_nearest_reference_counts():
    assert WordF1().score(["red house"], [["blue car", "house", "a red house"]]).value == pytest.approx(100)


def test_articles_count_where_asked_for():
    assert WordF1(articles=True).score(["the house"], ["house"]).value == pytest.approx(100 * 2 / 3)
    assert "articles:counted" in WordF1(articles=True).signature(corpus_of(["a"], ["a"]))
