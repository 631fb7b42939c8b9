"""Patterns of heads: each is found in a map that was made to follow it, and only where it can be told."""

import math

import numpy as np
import pytest

from regard.explain.head_patterns import PATTERNS, look_of, pattern_of, patterns
from regard.results import AttentionMap, Explanation

SOURCE, TARGET = ["the", "old", "boat", "sank", "</s>"], ["das", "Boot", "</s>"]
COUNTS = {"the": 90, "old": 20, "boat": 2, "sank": 5, "das": 80, "Boot": 3}
SIDES = {"encoder": ("source", "source"), "decoder": ("target", "target"), "cross": ("target", "source")}


def shares(kind, *heads):
    """(head, pattern) of heads whose words look at these places alone, each a list of places."""
    queries, keys = SIDES[kind]
    width = len(SOURCE if keys == "source" else TARGET)
    rows = [[[float(key == place) for key in range(width)] for place in places] for places in heads]
    seen = AttentionMap("one", kind, 0, rows, queries, keys)
    found = Explanation.of_text(SOURCE, TARGET, [], [], [seen])
    return [dict(zip(PATTERNS, one, strict=True)) for one in patterns([look_of(found, seen)], COUNTS).shares.tolist()]


def test_positions_of_an_encoder():
    before, itself, behind = shares("encoder", [4, 0, 1, 2, 3], [0, 1, 2, 3, 4], [1, 2, 3, 4, 0])
    assert (before["previous"], before["same"], before["next"]) == (1.0, 0.0, 0.0)
    assert (itself["same"], itself["previous"]) == (1.0, 0.0)
    assert (behind["next"], behind["same"]) == (1.0, 0.0)
    assert math.isnan(itself["diagonal"])


def test_separators_and_rare_words():
    end, rare = shares("encoder", [4] * 5, [2] * 5)
    assert (end["separator"], end["rarest"]) == (1.0, 0.0)
    assert (rare["separator"], rare["rarest"]) == (0.0, 1.0)


def test_a_decoder_reads_a_word_after_it_was_written():
    """It reads <s>, das, Boot: the first place is a separator, and the first word has no choice."""
    start, last = shares("decoder", [0, 0, 0], [0, 1, 2])
    assert (start["separator"], start["previous"]) == (1.0, 0.5)
    assert (last["same"], last["separator"]) == (1.0, 0.0)
    assert last["rarest"] == 1.0  # of das and Boot, the one choice among words
    assert math.isnan(last["next"]) and math.isnan(last["diagonal"])


def test_the_diagonal_of_texts_of_other_lengths():
    """Words 0, 1 and 2 of three correspond to 0, 2 and 4 of five, give or take one."""
    along, across = shares("cross", [1, 1, 4], [4, 4, 0])
    assert (along["diagonal"], across["diagonal"]) == (1.0, 0.0)
    assert math.isnan(along["previous"])


def test_confidence_is_the_mean_of_the_largest_weights():
    seen = AttentionMap("one", "cross", 0, [[[0.5, 0.25, 0.25], [0.1, 0.9, 0.0], [0.0, 0.0, 0.0]]], "target", "source")
    found = Explanation.of_text(["a", "b", "</s>"], TARGET, [], [], [seen])
    assert patterns([look_of(found, seen)], {}).confidence.tolist() == [pytest.approx(0.7)]  # a row that sees nothing


def test_examples_count_by_their_words():
    looks = []
    for places in ([0, 0], [0, 0, 1, 2]):
        seen = AttentionMap("one", "encoder", 0, [np.eye(len(places))[places].tolist()], "source", "source")
        looks.append(look_of(Explanation.of_text(["w"] * len(places), [], [], [], [seen]), seen))
    assert patterns(looks, {}).shares[0, PATTERNS.index("previous")] == 1.0  # one of one, and three of three
    assert math.isnan(patterns(looks, {}).shares[0, PATTERNS.index("rarest")])  # all are as rare


def test_a_head_is_named_by_what_most_words_do():
    assert pattern_of(np.array([0.2, 0.6, math.nan, math.nan, 0.5, 0.1])) == "same"
    assert pattern_of(np.array([0.2, 0.4, math.nan, math.nan, 0.3, 0.1])) == ""
