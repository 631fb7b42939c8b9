"""Words that a model reads in another spelling are coloured where they stand in the text as it was given."""

import html
import io
import json
import re

import pytest
from explanations import of_label
from rich.console import Console
from small_runs import regard as command

import regard
from regard.answers import LabelPrediction, render
from regard.explain import svg_of, to_json
from regard.explain.scale import SHADES
from regard.explain.token_weights import token_weights
from regard.results import AttentionMap

TEXT = "The plot is dull but the ending isn't good"
TOKENS = [" the", "<unk>", " is", "<unk>", " but", " the", "<unk>", " isnt", " good", "</s>"]
WEIGHTS = [0.6, 0.12, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.0]


def explained(text: str, tokens: list[str], weights: list[float], **more: object) -> LabelPrediction:
    maps = [AttentionMap("pooling", "pooling", 0, [[weights]], "", "text")]
    found = of_label({"text": tokens, "label": ["bad"]}, maps, **more)
    return LabelPrediction(text, "bad", -0.1, explanation=found, probabilities={"bad": 1.0})


def by_hand() -> LabelPrediction:
    offsets, after = [], 0
    for word in TEXT.split():
        after = TEXT.index(word, after) + len(word)
        offsets.append([after - len(word), after])
    return explained(TEXT, TOKENS, WEIGHTS, offsets={"text": [*offsets, None]})


def test_each_word_has_the_weight_of_its_own_token():
    (seen,) = token_weights(by_hand().explanation)
    places = seen.places(TEXT)
    assert [TEXT[slice(*place)] for place in places[:-1]] == TEXT.split()
    assert places[-1] is None and seen.of_words() == pytest.approx(WEIGHTS)


def test_a_word_of_several_pieces_stands_where_they_do():
    places = {"text": [[0, 3], [3, 4], [3, 4], [5, 7], None]}
    found = explained("café so", [" caf", "<0xC3>", "<0xA9>", " so", "</s>"], [0.2] * 5, offsets=places)
    (seen,) = token_weights(found.explanation)
    assert seen.places("café so") == [(0, 4), (5, 7), None]


def test_a_terminal_names_and_colours_the_words_as_they_were_given():
    console = Console(width=80, no_color=True, record=True, file=io.StringIO())
    console.print(render(by_hand()))
    lines = console.export_text().splitlines()
    number = lines.index(f"  {TEXT}")
    assert lines[number + 1].rstrip() == f"  {SHADES[4] * 3} {SHADES[1] * 4}"  # of the strongest: 1 and 0.2
    assert lines[number + 2].strip() == "← The 60%, plot 12%, good 7%"


def test_a_picture_has_the_words_as_they_were_given():
    picture = svg_of(by_hand().explanation, source=TEXT)
    told = [f"bad → {word}: {weight:.3f}" for word, weight in zip([*TEXT.split(), "</s>"], WEIGHTS, strict=True)]
    assert re.findall("<title>(bad → .*?: .*?)</title>", html.unescape(picture)) == told


def test_json_tells_the_places():
    (told,) = json.loads(json.dumps(to_json([by_hand()])))["predictions"]
    assert told["explanation"]["offsets"] == {"text": by_hand().explanation.offsets["text"]}
    assert "offsets" not in to_json([explained("a", [" a", "</s>"], [1.0, 0.0])])["predictions"][0]["explanation"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("read")
    (folder / "a.tsv").write_text("good\tthe film is good 好\nbad\tthe film isn't good\n" * 8, encoding="utf-8")
    settings = ["text.tokenizer=uncased_words", "model.dim=8", "task.max_pieces=6", "task.keep=last"]
    done = command(
        "train", "--text", folder / "a.tsv", *settings, "training.max_updates=2", "--run", folder / "run", "--quiet"
    )
    assert done.code == 0, done.said
    return folder / "run"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Zebra isn't  GOOD", ["The", "Zebra", "isn't", "GOOD"]),
        ("好 电影, Isn't it", ["好", "电", "影", ",", "Isn't", "it"]),
        ("the film is good " * 30 + "The end isn't cafe\u0301, 好!", ["end", "isn't", "cafe\u0301", ",", "好", "!"]),
        ("", []),
    ],
    ids=["unknown", "Chinese", "the last", "nothing"],
)
def test_a_classifier_tells_where_the_words_stand_that_it_read(folder, text, words):
    (found,) = regard.load(folder).predict([text], explain=True)
    told = found.explanation
    for seen in token_weights(told):
        assert [text[slice(*place)] for place in seen.places(found.source) if place is not None] == words
        assert len(seen.words) == len(words) + 1
    assert len(told.columns["text"].texts) == len(words) + 1 == len(told.offsets.get("text", [None]))
