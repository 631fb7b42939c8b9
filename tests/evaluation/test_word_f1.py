"""F1 of words and exact match of answers by hand, and by the rules that SQuAD publishes."""

import itertools
import random
import re

import pytest

from regard.evaluation.metric import corpus_of
from regard.evaluation.squad_exact_match import SquadExactMatch
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


def normal(text: str) -> str:
    """Lower case, no ASCII signs, no articles, single spaces."""
    plain = "".join(one for one in text.lower() if one not in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", plain).split())


def squad(given: str, wanted: str) -> float:
    """The F1 of the bags of words."""
    bags = [normal(given).split(), normal(wanted).split()]
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


WORDS = [
    "the",
    "A",
    "an",
    "Ann",
    "The-end",
    "theme",
    "U.S.",
    "$100",
    "«maison»",
    "maison",
    "“quoted”",
    "don't",
    "don’t",
]
WORDS += ["l'été", "l'e\u0301te\u0301", "a\u0301", "—", "--", "Łódź", "ŁÓDŹ", "东京。", "İ", "straße", "x^2", "", "…"]


def test_a_thousand_answers_are_scored_by_the_rules_of_squad():
    draw = random.Random(7)

    def text(most: int) -> str:
        return draw.choice([" ", "  ", "\t", "\u00a0"]).join(draw.choices(WORDS, k=draw.randint(0, most)))

    golds = [[text(4) for _ in range(draw.randint(1, 4))] for _ in range(1000)]
    golds = [[one for one in some if normal(one)] or [""] for some in golds]  # those of 2.0 that count
    one_of = [draw.choice(some) for some in golds]
    answers = [draw.choice([text(4), text(3), gold, f"The {gold.upper()}.", f"{gold} {text(3)}"]) for gold in one_of]
    matched = [max(normal(one) == normal(gold) for gold in some) for one, some in zip(answers, golds, strict=True)]
    shared = [max(squad(one, gold) for gold in some) for one, some in zip(answers, golds, strict=True)]
    corpus = corpus_of(answers, golds)
    assert SquadExactMatch().statistics(corpus)[:, 0].tolist() == matched
    assert WordF1().statistics(corpus)[:, 0].tolist() == pytest.approx(shared)
    assert 200 < sum(matched) < sum(shared) - 50 < 850  # right and wrong ones, and such in between


def test_punctuation_of_other_scripts_counts_unless_it_is_removed():
    assert WordF1().score(["«maison»"], ["maison"]).value == 0.0
    assert WordF1(punctuation="unicode").score(["«maison»", "e\u0301t$"], ["maison", "ét"]).value == 100.0
    assert "punctuation:none" in WordF1(punctuation="unicode").signature(corpus_of(["a"], ["a"]))


def test_a_corpus_has_the_mean_and_not_f1_of_sums():
    given, wanted, values = zip(*CASES, strict=True)
    assert WordF1().score(given, wanted).value == pytest.approx(100 * sum(values) / len(values))


def test_the_nearest_reference_counts():
    assert WordF1().score(["red house"], [["blue car", "house", "a red house"]]).value == pytest.approx(100)


def test_articles_count_where_asked_for():
    assert WordF1(articles=True).score(["the house"], ["house"]).value == pytest.approx(100 * 2 / 3)
    assert "articles:counted" in WordF1(articles=True).signature(corpus_of(["a"], ["a"]))
