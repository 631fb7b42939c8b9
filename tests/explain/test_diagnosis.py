"""Symptoms seen by hand, and healthy translations left alone."""

import math
from dataclasses import replace

import pytest

from regard.explain import Flag, diagnose
from regard.explain.diagnosis import other_numbers, repeated_words, unattended, unsure, untranslated
from regard.results import ColumnLink, Explanation, Prediction, TokenRole, Tokens


def test_a_word_said_again_is_told_with_its_distance():
    assert repeated_words(["the", "the", "old", "man", "old"]) == [
        Flag("repeated", "target", 1, 1.0),
        Flag("repeated", "target", 4, 2.0),
    ]


def test_a_word_said_again_far_away_is_well():
    assert repeated_words(["so", "a", "b", "c", "so"]) == []


def test_signs_may_come_again():
    assert repeated_words([",", ",", "7", "7"]) == []


def test_a_word_said_again_about_something_else_is_well():
    apart = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    together = [[0.6, 0.4, 0.0], [0.0, 0.5, 0.5]]
    assert repeated_words(["very", "very"], apart) == []
    assert [flag.word for flag in repeated_words(["very", "very"], together)] == [1]


def test_a_copied_word_is_a_question():
    assert untranslated(["der", "Hund", "7"], ["Hund", "7"]) == [Flag("untranslated", "target", 0, 1.0)]


def test_a_copy_counts_only_where_it_looked_at_that_word_most():
    assert untranslated(["in", "out"], ["in"], [[0.75, 0.25]]) == [Flag("untranslated", "target", 0, 0.75)]
    assert untranslated(["in", "out"], ["in"], [[0.25, 0.75]]) == []


def test_another_number_than_the_source_has():
    def places(source, target):
        return [flag.word for flag in other_numbers(source.split(), target.split())]

    assert places("two dogs, 7 cats.", "drei Hunde, 7 Katzen.") == [0]
    assert places("two dogs and two cats", "zwei Hunde und zwei Katzen") == []
    assert places("two dogs and two cats", "zwei Hunde und 2 Katzen") == []
    assert places("two dogs", "zwei von 7 Hunden") == []  # nothing of the source is missing
    assert places("two dogs in 1999", "Hunde in 1998!") == [2]
    assert places("both", "zwei") == []


def test_source_words_nobody_looked_at():
    weights = [[0.9, 0.1, 0.0], [0.75, 0.15, 0.1]]
    assert unattended(["a", "b", "!"], weights) == [Flag("unattended", "source", 1, 0.15)]
    assert unattended(["a", "b", "!"], weights, below=0.1) == []


def test_words_below_one_half_are_unsure():
    assert [flag.word for flag in unsure([math.log(0.49), math.log(0.51), -math.inf, 0.001])] == [0, 2]
    assert unsure([math.log(0.25)])[0].value == pytest.approx(0.25)


def test_a_healthy_translation_has_no_flag():
    weights = [[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.0, 0.0, 1.0]]
    found = Explanation.of_text(["▁gut", "▁so", "</s>"], ["▁fine", "▁thus", "</s>"], [], weights)
    assert diagnose(Prediction("", "", 0.0, [-0.1, -0.1, -9.0], explanation=found)) == []


def test_flags_of_a_prediction_stand_by_side_and_word():
    weights = [[0.9, 0.1, 0.0], [0.9, 0.1, 0.0], [0.0, 0.0, 1.0]]
    found = Explanation.of_text(["▁gut", "▁so", "</s>"], ["▁gut", "▁gut", "</s>"], [], weights)
    flags = diagnose(Prediction("", "gut gut", 0.0, [-0.1, -2.0, -0.1], explanation=found))
    assert [flag[:3] for flag in flags] == [
        ("unattended", "source", 1),
        ("untranslated", "target", 0),
        ("repeated", "target", 1),
        ("unsure", "target", 1),
        ("untranslated", "target", 1),
    ]


def test_a_word_is_as_sure_as_its_pieces_together():
    found = Explanation.of_text(["▁a"], ["▁x", "y"], [], [[1.0], [1.0]])
    (flag,) = diagnose(Prediction("", "xy", 0.0, [math.log(0.5), math.log(0.5)], explanation=found))
    assert (flag.kind, flag.word, flag.value) == ("unsure", 0, pytest.approx(0.25))


def test_a_word_is_as_sure_as_its_calibration_says():
    """The end symbol, which no calibration mends, keeps its probability."""
    found = Explanation.of_text(["▁a"], ["▁x", "</s>"], [], [[1.0], [1.0]])
    sure = Prediction("", "x", 0.0, [math.log(0.9), math.log(0.8)], explanation=found)
    assert diagnose(sure) == []
    (flag,) = diagnose(replace(sure, confidences=[0.4]))
    assert (flag.kind, flag.word, flag.value) == ("unsure", 0, pytest.approx(0.4))


def test_probabilities_of_another_length_are_left_alone():
    found = Explanation.of_text(["▁a"], ["▁x"], [], [[1.0]])
    assert diagnose(Prediction("", "x", 0.0, [-9.0, -9.0], explanation=found)) == []


def test_a_model_without_weights_can_still_repeat_itself():
    found = Explanation.of_text(["▁a", "▁b"], ["▁x", "▁x"], [], [])
    assert diagnose(Prediction("", "x x", 0.0, explanation=found)) == [Flag("repeated", "target", 1, 1.0)]


def test_cut_off_is_told_with_and_without_an_explanation(house):
    cut = replace(house, finished=False)
    assert Flag("unfinished", "target", 4, 0.0) in diagnose(cut)
    assert diagnose(replace(cut, explanation=None)) == [Flag("unfinished", "target", 4, 0.0)]
    assert diagnose(Prediction("", "", 0.0, finished=False)) == [Flag("unfinished", "target", 0, 0.0)]
    assert diagnose(replace(house, explanation=None)) == []


def test_a_translation_that_reads_more_than_its_source_has_flags():
    """What filled the holes of the only column is no text that was written."""
    weights = [[0.9, 0.1, 0.0], [0.0, 0.0, 1.0]]
    source, target = ["▁gut", "▁so", "</s>"], ["▁gut", "</s>"]
    found = Explanation.of_text(source, target, [], weights)
    found = replace(found, columns={**found.columns, "draft": Tokens(["▁fine", "</s>"], TokenRole.DERIVED)})
    written = Prediction("", "gut", 0.0, explanation=found)
    assert [flag[:3] for flag in diagnose(written)] == [("unattended", "source", 1), ("untranslated", "target", 0)]
    columns = {"text": Tokens(source, TokenRole.GIVEN), "answers": Tokens(target)}
    filled = Explanation(columns, [ColumnLink("text", "answers", [], weights)])
    assert diagnose(replace(written, explanation=filled)) == []
