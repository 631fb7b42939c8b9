"""What translations leave out: by known translations, by what words looked at; the warning, and a run's command."""

import pytest
from engines import sent
from small_runs import PAIRS, SMALL, regard, unsaid, write_texts

from regard.errors import CheckpointError
from regard.explain.adequacy import ADEQUACIES
from regard.explain.adequacy.adequacy import checked
from regard.explain.adequacy.lexicon import TRANSLATIONS_FILE, folded_words
from regard.explain.page import to_json
from regard.predictor import load
from regard.registry import Choice
from regard.results import DocumentPrediction, Explanation, TextPrediction
from regard.statistical.translations import Translations

COUNTS = {
    "two": {"zwei": 8, "beide": 2},
    "dogs": {"hunde": 9, "hund": 1},
    "sit down": {"x": 9},  # no word: it is never found
    "down": {"nach unten": 5},
    "rare": {"selten": 4},
    "the": {"der": 3, "die": 3, "": 4},  # often nothing
    "odd": {f"wort{number}": 1 for number in range(10)},  # no translation twice
}


@pytest.fixture
def folder(tmp_path):
    Translations(COUNTS).write(tmp_path / TRANSLATIONS_FILE)
    return tmp_path


def uncovered(folder, source: str, text: str, **settings) -> list[str]:
    check = ADEQUACIES.build(Choice("lexicon", settings), folder)
    return [source[start:end] for start, end in check.uncovered(TextPrediction(source, text, 0.0))]


@pytest.mark.parametrize(
    ("source", "text", "words"),
    [
        ("Two dogs.", "Zwei Hunde.", []),
        ("Two dogs.", "Beide, Hunde", []),
        ("Two dogs.", "Hunde.", ["Two"]),
        ("Two dogs.", "Zwei Hund.", ["dogs"]),  # counted once only
        ("dogs, Two", "", ["dogs", "Two"]),
        ("Two dogs", "two dogs", []),  # as they are
        ("down", "unten, ganz nach links", []),
        ("down", "unten", ["down"]),
        ("rare the odd", "", []),
    ],
)
def test_words_without_a_usual_translation(folder, source, text, words):
    assert uncovered(folder, source, text) == words


def test_settings_say_which_words_are_judged(folder):
    assert uncovered(folder, "rare the two", "", min_count=4) == ["rare", "two"]
    assert uncovered(folder, "rare the two", "", min_confidence=0.6) == ["the", "two"]


def test_places_are_those_of_the_text():
    text = " Zwei Hunde,\u00a0ja - 你好"
    assert [(word, text[start:end].lower()) for word, (start, end) in folded_words(text)] == [
        (word, word) for word in ["zwei", "hunde", ",", "ja", "-", "你", "好"]
    ]


def test_words_that_nothing_looks_at():
    weights = [[0.9, 0.05, 0.05, 0.0], [0.5, 0.05, 0.1, 0.35], [0.2, 0.0, 0.1, 0.7]]
    tokens = ["▁Two", "▁do", "gs", "▁run", "</s>"], ["▁Zwei", "▁rennen", "</s>"]
    found = Explanation.of_text(*tokens, [], [[*row[:3], 0.0, row[3]] for row in weights])
    check = ADEQUACIES.build(Choice("attention", {"threshold": 0.3}), None)
    one = TextPrediction("Two dogs run", "Zwei rennen", 0.0, explanation=found)
    assert check.uncovered(one) == [[4, 8], [9, 12]]  # dogs: 0.1 + 0.15, run: 0
    assert check.uncovered(TextPrediction("Two", "Zwei", 0.0)) == []


def test_a_prediction_tells_its_uncovered_words(folder):
    check = ADEQUACIES.build(Choice("lexicon"), folder)
    long = " ".join(["dogs"] * 7)
    given = [TextPrediction("Two dogs", "Hunde", 0.0, warning="cut"), TextPrediction("dogs", "Hunde", 0.0)]
    first, second, third = checked([*given, TextPrediction(long, "x", 0.0)], check, lambda some: some)
    assert (first.warning, first.uncovered) == ("cut; may be untranslated: 'Two'", [[0, 3]])
    assert first.details()["uncovered"] == [{"word": "Two", "place": [0, 3]}]
    assert (second.warning, second.details()) == ("", {"uncovered": []})
    assert third.warning.endswith("'dogs' and 2 others") and len(third.uncovered) == 7
    assert checked(given, None, lambda some: some) == given and "uncovered" not in given[0].details()


def test_a_server_tells_them_too(folder):
    """Between its processes, and in the `details` of an answer under /v1."""
    given = TextPrediction("Two dogs", "Hunde", 0.0)
    [one] = checked([given], ADEQUACIES.build(Choice("lexicon"), folder), lambda some: some)
    assert sent(one) == one
    [answer] = to_json([one])["predictions"]
    assert answer["details"]["warning"] == one.warning
    assert answer["details"]["uncovered"] == [{"word": "Two", "place": [0, 3]}]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    place = tmp_path_factory.mktemp("adequacy")
    done = regard("train", *write_texts(place), *SMALL, "--run", place / "run", "-q")
    assert done.code == 0, done.said
    return place / "run"


def test_a_run_learns_from_its_own_pairs(run):
    with pytest.raises(CheckpointError, match=r"is missing \(learn it from the training texts: regard adequacy"):
        load(run, ["decoding.adequacy=lexicon"])
    assert regard("adequacy", run, "--ambiguous", 3, "--pseudo", run.parent / "pseudo.tsv").code == 0
    lines = (run.parent / "pseudo.tsv").read_text("utf-8").splitlines()
    assert set(lines) <= {f"{source}\t{target}" for source, target in PAIRS}  # no word is frequent enough to change
    counts = Translations.read(run / TRANSLATIONS_FILE).counts
    assert {"dog", "yes"} <= set(counts) <= {"a", "dog", "runs", "two", "cats", "he", "reads", "yes"}
    predictor = load(run, ["decoding.adequacy={name: lexicon, min_count: 1}"])
    [one] = predictor.predict(["yes and dog"])  # a model of two updates translates nothing
    assert [one.source[start:end] for start, end in one.uncovered] == ["yes", "dog"]
    [whole] = predictor.translate(["yes. dog."])
    assert isinstance(whole, DocumentPrediction) and "'yes'" in whole.warning and "'dog'" in whole.warning
    assert predictor.predict(["yes"], safeguards=False)[0].uncovered is None
    [explained] = load(run).predict(["yes"], explain=True)
    assert explained.lexicon is not None and set(explained.details()) >= {"faults", "usual"}


def test_attention_needs_no_lexicon(run):
    [one] = load(run, ["decoding.adequacy={name: attention, threshold: 1}"]).predict(["a dog runs"])
    assert one.uncovered is not None and one.explanation is None


def test_what_does_not_translate_is_not_checked(tmp_path):
    (tmp_path / "a.txt").write_text("one two three\n" * 30, encoding="utf-8")
    words = ["--text", tmp_path / "a.txt", "text.tokenizer.size=300", "model.dim=16", "training.max_updates=2"]
    small = ["model.decoder={name: transformer, num_layers: 1, feedforward_dim: 16}", "-q", "--run", tmp_path / "run"]
    assert regard("train", *words, *small).code == 0
    assert unsaid(regard("adequacy", tmp_path / "run"), "decoding.adequacy: is for models that translate") == []
