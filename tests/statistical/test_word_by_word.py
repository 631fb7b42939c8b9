"""Word-by-word translation and its orders, by hand."""

from itertools import permutations

import pytest

from benchmarks import benchmark
from regard.recipes.no_pairs import word_by_word
from regard.statistical.kneser_ney import kneser_ney

no_pairs = benchmark("no_pairs")


def test_words_without_a_translation_are_copied():
    assert word_by_word(["der", "Hund", "7"], {"der": "the", "Hund": "dog"}) == ["the", "dog", "7"]


def test_swaps_lead_to_a_more_probable_order():
    language = kneser_ney([["the", "red", "car", "stops"]] * 20 + [["a", "dog", "runs"]] * 5, 3)
    assert no_pairs.swapped_order(["the", "car", "red", "stops"], language) == ["the", "red", "car", "stops"]


@pytest.mark.parametrize("words", [*permutations(["a", "dog", "runs", "fast"])])
def test_no_swap_lowers_the_probability(words):
    language = kneser_ney([["a", "dog", "runs", "fast"], ["dog", "runs"], ["a", "cat"]], 2)
    found = no_pairs.swapped_order(words, language)
    assert (
        sorted(found) == sorted(words) and sum(language.log_probs_of(found)) >= sum(language.log_probs_of(words)) - 1e-9
    )
    assert no_pairs.swapped_order(words, language, rounds=0) == [*words]


def test_an_empty_sentence_stays_empty():
    assert (
        no_pairs.swapped_order([], kneser_ney([["a"]], 2))
        == no_pairs.oracle_order([], ["a"])
        == word_by_word([], {})
        == []
    )


@pytest.mark.parametrize(
    ("words", "reference", "found"),
    [
        ("the car red stops", "the red car stops", "the red car stops"),
        ("b a b", "b b a", "b b a"),
        ("car red it", "red car", "red it car"),
        ("x y", "a b", "x y"),
    ],
)
def test_oracle_order_by_hand(words, reference, found):
    assert no_pairs.oracle_order(words.split(), reference.split()) == found.split()
