"""Weights of a decoder by what its translations are worth."""

import itertools
import math
from functools import partial

import numpy as np
import pytest

from regard.statistical import mert
from regard.statistical.kneser_ney import kneser_ney
from regard.statistical.mert import Round, minimise_errors, tuned
from regard.statistical.phrase_decoder import MOSES_WEIGHTS, PHRASE_FEATURES, PhraseDecoder
from regard.statistical.phrase_table import PhraseEntry, PhraseTable

RARE, OFTEN = math.log(0.1), math.log(0.9)
SENTENCES = [["a"], ["b"], ["a", "b"]]


SEARCH = partial(minimise_errors, reach=10.0)


def decoder_of():
    """By p(source|target) alone the right translation of a word is likelier; the language model prefers the other."""
    pairs = [
        ((word,), PhraseEntry((f"{word}-{kind}",), (side, RARE, -side, RARE)))
        for word in "ab"
        for kind, side in (("right", OFTEN), ("wrong", RARE))
    ]
    language = kneser_ney([["a-wrong"], ["b-wrong"], ["a-wrong", "b-wrong"]] * 3, 2)
    return PhraseDecoder(PhraseTable.of(pairs), language, MOSES_WEIGHTS)


def judge(places, texts):
    """How many words are right."""
    return np.array([[sum(word.endswith("right") for word in text)] for text in texts], float)


def gains(sums):
    return sums[:, 0]


def test_weights_are_found_that_translate_all_words_right():
    decoder, rounds = decoder_of(), []
    assert sum(judge([], [decoder.translate(one)[0].words])[0, 0] for one in SENTENCES) == 0
    found = tuned(decoder, SENTENCES, judge, gains, SEARCH, report=rounds.append)
    assert [found.translate(one)[0].words for one in SENTENCES] == [("a-right",), ("b-right",), ("a-right", "b-right")]
    values = [one.value for one in rounds]
    assert values[0] == 0 and max(values) == 4
    assert rounds[values.index(4)].decoder is found
    assert (
        found.weights[PHRASE_FEATURES.index("p(source|target)")]
        > found.weights[PHRASE_FEATURES.index("language model")]
    )


def test_it_ends_where_nothing_new_is_found():
    rounds = []
    tuned(decoder_of(), SENTENCES, judge, gains, SEARCH, rounds=20, report=rounds.append)
    assert len(rounds) < 5
    assert rounds[-1].candidates == rounds[-2].candidates == 2 + 2 + 4 + 4  # of two words in either order


@pytest.mark.parametrize(("seconds", "complete"), [(0, 0), (2, 0), (3, 1), (5, 1), (6, 2)])
def test_it_ends_with_the_time(monkeypatch, seconds, complete):
    clock, decoder, rounds = itertools.count(), decoder_of(), []
    monkeypatch.setattr(mert.time, "monotonic", lambda: next(clock))  # a second for each sentence
    found = tuned(decoder, SENTENCES, judge, gains, SEARCH, seconds=seconds, report=rounds.append)
    assert len(rounds) == complete
    assert found is max(rounds, key=lambda one: one.value, default=Round(decoder, 0.0, 0)).decoder
