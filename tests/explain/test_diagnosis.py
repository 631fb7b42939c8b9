"""Flags of translations, by words, weights and counts of a lexicon."""

import gzip
import math
from dataclasses import replace

import pytest
from engines import sent
from networks import build_translator
from tasks import engine_of, translation_of

from regard.explain import to_json
from regard.explain.diagnosis import Flag, diagnose, other_numbers, repeated_words, unattended, unsure, untranslated
from regard.explain.translation_faults import FaultFinder
from regard.predictor import Predictor
from regard.registry import Choice
from regard.results import (
    ColumnLink,
    Explanation,
    LexiconReport,
    Prediction,
    TextPrediction,
    TokenRole,
    Tokens,
    TranslationFault,
)
from regard.statistical.translations import Translations
from regard.text import train_tokenizer


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


# Flags with the source word that each belongs to, and with what counts of translations say of it


COUNTS = {"two": {"zwei": 30}, "dogs": {"hunde": 20}, "run": {"rennen": 9, "laufen": 8}, "boston": {"boston": 9}}
EQUAL = [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]


def answered(source: str, target: str, report: LexiconReport | None = None, weights=None) -> TextPrediction:
    """A translation word by word: each is linked to the word at its place."""
    sides = [[*(f"▁{word}" for word in text.split()), "</s>"] for text in (source, target)]
    links = [(place, place) for place in range(min(map(len, sides)) - 1)]
    found = Explanation.of_text(*sides, links, weights or [])
    return TextPrediction(source, target, 0.0, explanation=found, lexicon=report)


def reported(source: str, target: str) -> list[Flag]:
    return diagnose(answered(source, target, FaultFinder(Translations(COUNTS)).report(source, target)))


def test_a_fault_of_the_lexicon_is_a_flag_of_its_word():
    assert reported("two dogs", "drei Hunde") == [Flag("number", "target", 0, 0.0, "two", "zwei")]
    assert reported("two dogs run", "zwei Hunde") == [Flag("dropped", "source", 2, 0.0, "run", "rennen")]


def test_a_word_left_as_it_was_is_told_with_its_translation():
    assert reported("two dogs", "zwei dogs") == [Flag("untranslated", "target", 1, 1.0, "dogs", "hunde")]
    assert [flag.kind for flag in FaultFinder(Translations(COUNTS)).report("boston", "boston").faults] == []


def test_guesses_have_the_linked_word_and_its_usual_translation():
    report = LexiconReport([], {"dogs": "hunde"})
    (flag,) = diagnose(answered("two dogs", "zwei zwei", report))
    assert flag == Flag("repeated", "target", 1, 1.0, "dogs", "hunde")
    assert diagnose(answered("two dogs", "zwei zwei"))[0][4:] == ("dogs", "")


def test_a_lexicon_speaks_instead_of_a_guess_about_the_same_word():
    weights = [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    dropped = TranslationFault("dropped", "source", "dogs", [4, 8], "dogs", "hunde")
    one = answered("two dogs", "zwei Tage", LexiconReport([dropped], {}), weights)
    assert diagnose(one) == [Flag("dropped", "source", 1, 0.0, "dogs", "hunde")]
    assert [flag.kind for flag in diagnose(answered("two dogs", "zwei Tage", None, weights))] == ["unattended"]


def test_a_word_that_people_copy_may_be_copied():
    assert diagnose(answered("in Boston", "in Boston", LexiconReport([], {"boston": "boston", "in": "im"}))) == [
        Flag("untranslated", "target", 0, 1.0, "in", "im")
    ]


def test_a_fault_whose_place_no_word_has_is_left_out():
    fault = TranslationFault("number", "target", "3", [90, 91])
    assert diagnose(answered("two", "zwei", LexiconReport([fault], {}))) == []


def test_json_and_the_pipe_carry_what_the_lexicon_says():
    one = answered("two dogs", "drei Hunde", FaultFinder(Translations(COUNTS)).report("two dogs", "drei Hunde"))
    told = to_json([one])["predictions"][0]
    assert told["flags"] == [
        {"kind": "number", "side": "target", "word": 0, "value": 0, "source": "two", "suggestion": "zwei"}
    ]
    assert told["details"]["usual"] == {"two": "zwei", "dogs": "hunde"}
    assert [fault["word"] for fault in told["details"]["faults"]] == ["drei"]
    assert sent(one) == one


@pytest.fixture
def counted(tmp_path):
    """A translator whose run has counts, in a file that is read late."""
    path = tmp_path / "translations.tsv.gz"
    with gzip.open(path, "wt") as file:
        file.write("a\tein\t9\ndog\thund\t9\n")
    tokenizer = train_tokenizer(Choice("words"), ["a dog runs", "two old cats"])
    blocks = Choice("transformer", {"num_layers": 1, "feedforward_dim": 8})
    model = build_translator({"dim": 8, "encoder": blocks, "decoder": blocks}, len(tokenizer), len(tokenizer))
    task = translation_of(tokenizer)
    engine = engine_of(model, task, Choice("greedy", {"max_extra": 4}))
    return Predictor(model, task, engine, fault_finder=FaultFinder(path))


def test_explained_answers_are_looked_up(counted):
    (one,) = counted.predict(["a dog"], explain=True)
    assert one.lexicon.usual == {"a": "ein", "dog": "hund"}
    assert counted.predict(["a dog"])[0].lexicon is None
    (pictured,) = counted.explainer.with_relevance([one], "saliency")
    assert pictured.lexicon == one.lexicon
    assert next(counted.explainer.with_alignments([counted.predict(["a dog"])[0]])).lexicon is None


# Faults of translations by hand, and good translations left alone


LEXICON = {
    "the": {"der": 400, "die": 400, "": 3},
    "dog": {"hund": 20},
    "runs": {"läuft": 9, "rennt": 9},
    "two": {"zwei": 30, "beide": 3},
    "cats": {"katzen": 12},
    "boston": {"boston": 3},
    "old": {"alte": 8, "alten": 5, "": 1},
    "rarely": {"selten": 2},
}
FINDER = FaultFinder(Translations(LEXICON))


def faults(source: str, target: str) -> list[tuple[str, str, str]]:
    return [(fault.kind, fault.word, fault.suggestion) for fault in FINDER.faults(source, target)]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("The dog runs.", "Der Hund rennt."),
        ("Two cats", "Beide Katzen"),
        ("Two old dogs", "2 alte Hunde"),
        ("The dog of Boston runs", "Der Hund Bostons läuft"),
        ("The dog rarely runs", "Der Hund rennt"),  # too rare a word to be judged
        ("The dog runs, the dog", "Der Hund rennt, der Hund"),
        ("Two cats, the dog runs, two cats.", "Zwei Katzen, der Hund läuft, zwei Katzen."),
        ("Two cats, the dog runs.", "Zwei Katzen, die der Hund, die der alte, die läuft."),
        ("The dog runs.", "Der Hund, Katzen."),  # maybe a free translation
        ("", ""),
    ],
)
def test_good_translations_are_left_alone(source, target):
    assert faults(source, target) == []


@pytest.mark.parametrize(
    ("source", "target", "wanted"),
    [
        ("The dog runs.", "Der Hund.", ("dropped", "runs", "läuft")),
        ("The dog runs.", "Der Hund Hund läuft.", ("repeated", "Hund", "")),
        ("The dog runs, the two old.", "Der Hund läuft die zwei alte alten der Hund.", ("repeated", "Hund", "")),
        ("The dog runs.", "Der der Hund läuft.", ("repeated", "der", "")),
        ("Two cats", "Drei Katzen", ("number", "Drei", "zwei")),
        ("17 cats", "71 Katzen", ("number", "71", "17")),
        ("17 cats", "Katzen", ("number", "17", "")),
        ("The dog of Boston", "Der Hund von Berlin", ("name", "Boston", "boston")),
        ("The dog of Quito", "Der Hund von Lima", ("name", "Quito", "Quito")),
        ("The dog runs.", "Der Hund läuft alte Katzen.", ("invented", "Katzen", "")),
        ("The dog runs.", "Der ⁇ läuft.", ("unknown", "⁇", "hund")),
    ],
)
def test_each_fault_is_found_with_a_suggestion(source, target, wanted):
    assert wanted in faults(source, target)


def test_a_fault_tells_where_it_stands_and_what_it_came_from():
    (fault,) = FINDER.faults("Two cats", "Drei Katzen")
    assert (fault.side, fault.place, fault.source) == ("target", [0, 4], "Two")
    assert str(fault) == "number: Drei ← Two (zwei?)"


def test_a_word_has_one_fault_alone():
    found = FINDER.faults("Two cats of Quito", "Drei Katzen")
    assert len({(fault.side, *fault.place) for fault in found}) == len(found) == 2
