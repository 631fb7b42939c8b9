"""Pages and pictures show words as they were given, and mark those that the model does not know."""

import html
import re

import pytest
from explanations import of_label

from regard.answers import LabelPrediction
from regard.explain import by_words, png_of, svg_of, to_json
from regard.explain.tokens import given_words, words_of
from regard.results import AttentionMap, ColumnLink

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
        "no looks at second (* unknown to the model)",
        *("The", "plot*", "</s>"),
        "second looks at first (* unknown to the model)",
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


@pytest.mark.parametrize(("locale", "tip"), [("en", "unknown to the model"), ("zh-CN", "模型不认识此词")])
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
