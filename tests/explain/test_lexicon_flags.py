"""Flags with the source word that each belongs to, and with what counts of translations say of it."""

import gzip

import pytest
from engines import sent
from networks import build_translator
from tasks import engine_of, translation_of

from regard.explain import Flag, diagnose, to_json
from regard.explain.translation_faults import FaultFinder, KeptFaultFinder
from regard.predictor import Predictor
from regard.registry import Choice
from regard.results import Explanation, LexiconReport, TextPrediction, TranslationFault
from regard.statistical.translations import Translations
from regard.text import train_tokenizer

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
    return Predictor(model, task, engine, fault_finder=KeptFaultFinder(path))


def test_explained_answers_are_looked_up(counted):
    (one,) = counted.predict(["a dog"], explain=True)
    assert one.lexicon.usual == {"a": "ein", "dog": "hund"}
    assert counted.predict(["a dog"])[0].lexicon is None
    (pictured,) = counted.pictured([one], "saliency")
    assert pictured.lexicon == one.lexicon
    assert next(counted.linked([counted.predict(["a dog"])[0]])).lexicon is None
