"""Smoothed BLEU of single sentences, by hand."""

import math

import pytest

from regard.evaluation import METRICS
from regard.registry import Choice


def figure(hypotheses, references, **settings):
    return METRICS.build(Choice("sentence_bleu", settings)).score(hypotheses, references).value


def test_by_hand():
    """Words 3 of 4, pairs (1 + 1) of (3 + 1), triples (0 + 1) of (2 + 1), fours (0 + 1) of (1 + 1), one word short."""
    product = 3 / 4 * 2 / 4 * 1 / 3 * 1 / 2
    wanted = 100 * product**0.25 * math.exp(1 - 5 / 4)
    assert figure(["a dog sees me"], ["a dog sleeps near me"]) == pytest.approx(wanted)


def test_it_is_the_mean_over_sentences():
    texts, wanted = ["a dog", "no", "two cats sleep"], ["a dog", "yes", "two cats eat"]
    each = [figure([text], [one]) for text, one in zip(texts, wanted, strict=True)]
    assert figure(texts, wanted) == pytest.approx(sum(each) / 3)
    assert each[:2] == [100.0, 0.0]


def test_the_best_reference_counts():
    assert figure(["a dog"], [["no", "a dog"]]) == 100.0


def test_repeated_words_count_as_often_as_in_the_reference():
    assert figure(["the the"], ["the cat"], order=1) == pytest.approx(50.0)


def test_empty_texts():
    assert figure(["", "", "a"], ["", "a", ""]) == pytest.approx(100 / 3)


def test_case():
    assert figure(["A Dog"], ["a dog"], lowercase=True) == 100.0 > figure(["A Dog"], ["a dog"])
