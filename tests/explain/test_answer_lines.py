"""Labels, tags and places on a terminal."""

import io
import re

import pytest
from explanations import of_hops, of_label
from rich.console import Console

from regard.answers import LabelPrediction, show
from regard.answers.span import SpanPrediction
from regard.answers.tags import TagsPrediction
from regard.results import AttentionMap, Prediction

TOKENS = [" a", " fine", " film", "</s>"]


def shown(prediction: Prediction, width: int = 60, **settings: object) -> str:
    file = io.StringIO()
    show([prediction], Console(file=file, width=width, **settings))
    return file.getvalue()


def labelled(weights=(0.25, 0.5, 0.05, 0.2), **chances: float) -> LabelPrediction:
    maps = [AttentionMap("pooling", "pooling", 0, [[list(weights)]], "", "text")] if weights else []
    found = of_label({"text": TOKENS, "label": ["good"]}, maps)
    return LabelPrediction(
        "a fine film", "good", -0.1, explanation=found, probabilities=chances or {"good": 0.75, "bad": 0.25}
    )


def test_a_label_has_a_bar_for_each_probability_and_blocks_below_its_words():
    """A bar of 24 cells is all; of the words the strongest has full blocks, half of it half shades."""
    assert shown(labelled()).splitlines() == [
        "good",
        f"  good  75.0% {'█' * 18}",
        f"  bad   25.0% {'█' * 6}",
        "  a fine film",
        "  ▒ ████",
        "  ← fine 50%, a 25%, </s> 20%",
        "",
    ]


def test_words_have_backgrounds_where_there_is_colour():
    told = shown(labelled(), force_terminal=True, color_system="truecolor", no_color=False, _environ={})
    painted = dict(re.findall(r"\x1b\[30;48;2;([\d;]+)m(\w+)", told))
    assert painted == {"184;180;255": "a", "129;120;255": "fine"}  # halfway between weak and strong, and strong
    assert "▒" not in told


def test_a_model_without_attention_shows_its_text():
    assert shown(labelled(weights=())).splitlines()[3:] == ["  a fine film", ""]


def test_only_the_likeliest_labels_have_bars():
    told = shown(labelled(**{f"label {number}": 2.0**-number for number in range(1, 9)})).splitlines()
    assert [line.split()[:3] for line in told[1:7]] == [["label", str(n), f"{100 * 2.0**-n:.1f}%"] for n in range(1, 7)]
    assert told[7] == "  2 more"


def test_long_texts_are_wrapped_with_their_blocks():
    words = [f"w{number}" for number in range(12)]
    tokens = [f" {word}" for word in words]
    rows = [[[float(number == 11) for number in range(12)]]]
    found = of_label({"text": tokens, "label": ["x"]}, [AttentionMap("p", "pooling", 0, rows, "", "text")])
    lines = shown(LabelPrediction(" ".join(words), "x", 0.0, explanation=found), width=24).splitlines()
    assert lines[1:4] == ["  w0 w1 w2 w3 w4 w5 w6 ", "  w7 w8 w9 w10 w11", "  " + " " * 13 + "███"]


def test_tags_stand_below_their_words_and_unsure_ones_say_so():
    found = TagsPrediction(
        "Ann saw  York", "NAME O PLACE", -1.0, tags=["NAME", "O", "PLACE"], probabilities=[0.9, 0.8, 0.3]
    )
    assert [line.rstrip() for line in shown(found).splitlines()] == ["  Ann  saw York", "  NAME O   PLACE?", ""]
    narrow = [line.split() for line in shown(found, width=12).splitlines()]
    assert narrow == [["Ann", "saw"], ["NAME", "O"], ["York"], ["PLACE?"], []]


def test_a_place_is_marked_in_its_column():
    passage, question = "Built in 1889 in Paris", "When?"
    found = SpanPrediction(f"{passage}\t{question}", "1889", -1.0, start=9, end=13)
    assert shown(found).splitlines() == ["1889", f"  {passage}", "  " + " " * 9 + "████", f"  {question}", ""]


def test_hops_are_columns_of_a_table_of_sentences():
    sentences = ["Mary went home .", "John went out ."]
    rows = {"hop 1": [0.75, 0.25], "hop 2": [1.0, 0.0]}
    columns = {"passage": [" Mary", "</s>"], "question": [" Where", "</s>"], "sentences": sentences, "answer": ["home"]}
    found = of_hops(columns, rows)
    told = shown(LabelPrediction("Mary went home. John went out.\tWhere?", "home", 0.0, explanation=found)).splitlines()
    assert told[1:] == [
        "passage",
        "  Mary went home. John went out.",
        "question",
        "  Where?",
        "  hop 1   hop 2",
        "  ▓▓ 75%  ██ 100%  Mary went home .",
        "  ░░ 25%     0%    John went out .",
        "",
    ]


@pytest.mark.parametrize("hostile", ["\x1b[31m", "\u202e", "[bold]x[/bold]"])
def test_hostile_labels_words_and_tags_send_nothing_to_the_terminal(hostile):
    label = LabelPrediction(f"a {hostile}", hostile, 0.0, probabilities={hostile: 1.0})
    tags = TagsPrediction(f"a{hostile}", hostile, 0.0, tags=[hostile], probabilities=[0.1])
    for told in map(shown, (label, tags)):
        assert not {"\x1b", "\u202e"} & set(told)
        assert not hostile.startswith("[") or hostile in told
