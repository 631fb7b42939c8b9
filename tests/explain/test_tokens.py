"""Tokens and words as people read them, and as the given text spells them."""

import html
import io
import json
import re
import unicodedata

import pytest
from explanations import of_label
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from small_runs import regard as command

import regard
from regard.answers import LabelPrediction, render
from regard.explain import by_words, png_of, svg_of, to_json
from regard.explain.scale import SHADES
from regard.explain.token_weights import token_weights
from regard.explain.tokens import (
    byte_of,
    given_words,
    is_end,
    numbered_repeats,
    right_to_left,
    visible,
    visible_line,
    words_of,
)
from regard.results import AttentionMap, ColumnLink

ANYTHING = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a b", "a␣b"),
        ("\0\t\n\x1b", "␀␉␊␛"),
        ("\x7f\x85", "⟨U+007F⟩⟨U+0085⟩"),
        ("\u202e\u2066\u200f", "⟨U+202E⟩⟨U+2066⟩⟨U+200F⟩"),
        ("\u2028\u2029\u00a0\ufeff", "⟨U+2028⟩⟨U+2029⟩⟨U+00A0⟩⟨U+FEFF⟩"),
        ("\ud800", "⟨U+D800⟩"),
        ("\uffff\ufdd0", "⟨U+FFFF⟩⟨U+FDD0⟩"),
        ("नमस्‍ते 你好", "नमस्‍ते␣你好"),
        ("<b>&\"'", "<b>&\"'"),
    ],
)
def test_visible(text, shown):
    assert visible(text) == shown


def test_a_line_keeps_its_spaces():
    assert visible_line("a  b\n") == "a  b␊"


@given(ANYTHING)
def test_what_is_visible_moves_nothing_and_can_be_written(text):
    shown = visible(text)
    assert shown.encode("utf-8").decode("utf-8") == shown
    assert not {unicodedata.category(character) for character in shown.replace("\u200c", "").replace("\u200d", "")} & {
        "Cc",
        "Cf",
        "Cs",
        "Zl",
        "Zp",
        "Zs",
    }


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (["▁un", "believ", "able", "▁news"], ["unbelievable", "news"]),
        (["▁", "Haus", "▁ist"], ["Haus", "ist"]),
        (["▁it", "'", "s", "▁so", ",", "▁so"], ["it", "'", "s", "so", ",", "so"]),
        (["▁我们", "在", "家"], ["我们", "在", "家"]),
        (["▁カ", "タ"], ["カ", "タ"]),
        (["the", "old", "man"], ["the", "old", "man"]),
        ([" the", "re", " is"], ["there", "is"]),
        (["▁a", "</s>"], ["a", "</s>"]),
        (["▁caf", "<0xC3>", "<0xA9>", "▁x"], ["café", "x"]),
        (["▁a", "<0xFF>"], ["a\ufffd"]),
        (["▁"], ["▁"]),
        (["▁x", "\ud800"], ["x", "\ud800"]),
        ([], []),
    ],
)
def test_pieces_to_words(tokens, words):
    assert [word.text for word in words_of(tokens)] == words


@given(st.lists(ANYTHING | st.sampled_from(["▁", "▁a", "b", "</s>", "<0xE4>", " "])))
def test_every_piece_is_in_one_word_and_in_order(tokens):
    assert [piece for word in words_of(tokens) for piece in word.pieces] == list(range(len(tokens)))


@pytest.mark.parametrize(("token", "byte"), [("<0x00>", 0), ("<0xe4>", 0xE4), ("<0xFF>", 255)])
def test_a_byte_piece(token, byte):
    assert byte_of(token) == byte


@pytest.mark.parametrize(
    "token", ["<0x-1>", "<0x+1>", "<0x 1>", "<0x_1>", "<0xG1>", "<0x1>", "<0x111>", "0xE4", "<0x١١>"]
)
def test_what_only_looks_like_a_byte_piece_is_text(token):
    assert byte_of(token) is None
    assert words_of(["▁a", token])[-1].text.endswith(token)


def test_words_that_look_the_same_are_told_apart():
    assert numbered_repeats(["a", "b", "a", "\0", "␀"]) == ["a₁", "b", "a₂", "␀₁", "␀₂"]
    assert numbered_repeats(["x"] * 12)[-3:] == ["x₁₀", "x₁₁", "x₁₂"]


def test_the_end_symbol_ends():
    assert is_end(["a", "</s>"], 1)
    assert not is_end(["</s>", "a"], 0)
    assert not is_end(["a", "b"], 1)


@pytest.mark.parametrize(
    ("tokens", "right"),
    [(["שלום"], True), (["▁كتاب", "x"], True), (["abc", "ש"], False), (["1", "!"], False), ([], False)],
)
def test_right_to_left(tokens, right):
    assert right_to_left(tokens) is right


# Pages and pictures show words as they were given, and mark those that the model does not know


FIRST, SECOND = "👀 Rutgers isn't", "The plot"
COLUMNS = {
    "first": ["<unk>", "<unk>", " isnt", "</s>"],
    "second": [" the", "<unk>", "</s>"],
    "label": ["no"],
}
OFFSETS = {"first": [[0, 1], [2, 9], [10, 15], None], "second": [[0, 3], [4, 8], None]}
LOOKS = [[0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25], [0.0, 0.0, 0.0, 1.0]]
MAPS = [
    AttentionMap("matcher", "cross", 0, [LOOKS], "second", "first"),
    AttentionMap("pooling", "pooling", 0, [[[0.5, 0.25, 0.25]]], "", "second"),
]
FOUND = of_label(COLUMNS, MAPS, offsets=OFFSETS)

KNOWN = {"first": [" e", " rutgers", " isnt", "</s>"], "second": [" the", " plot", "</s>"], "label": ["no"]}


def pair() -> LabelPrediction:
    return LabelPrediction(f"{FIRST}\t{SECOND}", "no", -0.1, explanation=FOUND, probabilities={"no": 1.0})


@pytest.mark.parametrize(
    ("tokens", "offsets", "text", "words"),
    [
        ([" caf", "<0xC3>", "<0xA9>", " x"], [[0, 3], [3, 4], [3, 4], [5, 6]], "CAFÉ X", ["CAFÉ", "X"]),
        (["<unk>", "</s>"], [[2, 5], None], "  été ", ["été", "</s>"]),
        (["<unk>", "</s>"], None, "été", ["<unk>", "</s>"]),
        (["<unk>", "</s>"], [[0, 3], None], "", ["<unk>", "</s>"]),
    ],
)
def test_words_are_spelt_as_given_where_their_place_is_known(tokens, offsets, text, words):
    found = given_words(words_of(tokens), offsets, text)
    assert [word.text for word in found] == words
    assert [word.unknown for word in found] == ["<unk>" in [tokens[at] for at in word.pieces] for word in found]


def test_a_word_of_the_text_that_is_spelt_like_the_unknown_one_is_known():
    assert [word.unknown for word in words_of([" <unk>", "<unk>", "</s>"])] == [False, True, False]


def test_json_has_the_words_as_given_and_the_tokens_as_read():
    told = to_json([pair()])["predictions"][0]["explanation"]["columns"]
    assert told["first"]["tokens"] == COLUMNS["first"]
    assert told["first"]["words"] == [
        {"text": "👀", "pieces": [0], "unknown": True},
        {"text": "Rutgers", "pieces": [1], "unknown": True},
        {"text": "isn't", "pieces": [2]},
        {"text": "</s>", "pieces": [3]},
    ]
    assert [word["text"] for word in told["label"]["words"]] == ["no"]


def test_pictures_star_unknown_words_and_say_why():
    labels = re.findall(r"<text[^>]*>([^<]*)</text>", svg_of(FOUND, source=pair().source))
    assert [*map(html.unescape, labels)] == [
        "no attends to second (* unknown to the model)",
        *("The", "plot*", "</s>"),
        "second attends to first (* unknown to the model)",
        *("👀*", "Rutgers*", "isn't"),
        *("The", "plot*"),
    ]
    assert by_words(FOUND)[0] == ["<unk>", "<unk>", "isnt"]
    assert "*" not in svg_of(of_label(KNOWN, MAPS, offsets=OFFSETS), source=pair().source)


def test_a_plotted_picture_is_spelt_as_the_drawn_one():
    pytest.importorskip("matplotlib")
    as_given = {"first": [" 👀", " Rutgers", " isn't", "</s>"], "second": [" The", " plot", "</s>"], "label": ["no"]}
    wanted = png_of(of_label(as_given, MAPS))
    assert png_of(of_label(KNOWN, MAPS, offsets=OFFSETS), source=pair().source) == wanted
    assert png_of(FOUND, source=pair().source) != wanted  # stars


def test_weights_of_the_answer_name_the_words_as_given():
    """A classifier of one text tells weights of its words beside its maps."""
    columns, links = (
        {"text": COLUMNS["second"], "label": ["no"]},
        [ColumnLink("text", "label", [], [[0.5, 0.25, 0.25]])],
    )
    found = of_label(columns, [], links, {"text": OFFSETS["second"]})
    labels = re.findall(r"<text[^>]*>([^<]*)</text>", svg_of(found, source=SECOND))
    assert labels == ["Attention (* unknown to the model)", "The", "plot*", "no"]
    (told,) = to_json([LabelPrediction(SECOND, "no", -0.1, explanation=found)])["predictions"]
    assert [word["text"] for word in told["explanation"]["source_words"]] == ["The", "plot", "</s>"]


@pytest.mark.parametrize(("locale", "tip"), [("en", "unknown word"), ("zh-CN", "未登录词（OOV）")])
def test_the_viewer_shows_given_words_and_underlines_unknown_ones(visit, locale, tip):
    seen = visit(pair(), locale=locale)
    for unit in (0, 1):  # words, pieces
        seen.all(".bar button").filter(has_text=re.compile("^(Words|Pieces|词|子词)$")).nth(unit).click()
        assert seen.texts(".keys .token")[:2] == ["👀", "Rutgers"]
        assert seen.texts(".token .unknown") == ["👀", "Rutgers", "plot"]
        assert seen.all(".keys .token").nth(1).get_attribute("title") == tip
    assert seen.texts(".keys .token")[2] == "␣isnt"
    assert seen.all(".seen.unknown").get_attribute("title").endswith(f" · {tip}")
    styles = seen.all(".heat text").evaluate_all(
        "labels => labels.map(one => [one.textContent, getComputedStyle(one).textDecorationStyle])"
    )
    assert [label for label, style in styles if style == "dotted"] == ["👀", "Rutgers", "plot"]


# Words that a model reads in another spelling are coloured where they stand in the text as it was given


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
