"""What looks from one text at another: a map for each text, and a view of each."""

import io
import struct
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
import torch
from explanations import of_label
from rich.console import Console

from regard.answers import show
from regard.attention import EACH, Attended, Recorded, Role
from regard.explain import by_words, png_of, svg_of, to_json
from regard.explain.alignment_view import alignment_views
from regard.explain.maps import apart, attention_maps
from regard.results import AttentionMap, Explanation, Prediction

COLUMNS = {"first": ["▁a", "▁dog", "</s>"], "second": ["▁cats", "</s>"], "label": ["no"]}
FORTH = [[[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]]]
BACK = [[[0.9, 0.1, 0.0], [0.2, 0.2, 0.6]], [[0.7, 0.1, 0.2], [0.0, 0.0, 1.0]]]
OWN = [[[1.0, 0.0], [0.0, 1.0]]]
PAIR = of_label(
    COLUMNS,
    [
        AttentionMap("own", "encoder", 0, OWN, "second", "second"),
        AttentionMap("forth", "cross", 0, FORTH, "first", "second"),
        AttentionMap("back", "cross", 1, BACK, "second", "first"),
        AttentionMap("higher", "cross", 2, [[[0.0, 0.0, 1.0]] * 2], "second", "first"),
    ],
)


def told(found: Explanation) -> str:
    file = io.StringIO()
    show([Prediction("a dog\tcats", "no", -1.0, explanation=found)], Console(file=file, width=200))
    return file.getvalue()


def test_rows_that_were_read_together_are_told_apart():
    """Both texts of two examples are four rows; an attention of one text stays as it is."""
    weights = torch.rand(4, 2, 3, 3)  # (row, head, query, key)
    records = {
        "encoder": Recorded(Role(EACH, EACH), [Attended(torch.zeros(4, 3, 5), weights), Attended(torch.zeros(1))]),
        "pooling": Recorded(Role(None, EACH), []),
        "cross": Recorded(Role("first", "second"), [Attended(torch.zeros(2, 3, 5), weights[:2])]),
    }
    found = apart(records, ("first", "second"))
    assert [(name, one.role[:2]) for name, one in found.items()] == [
        ("encoder (first)", ("first", "first")),
        ("encoder (second)", ("second", "second")),
        ("pooling (first)", (None, "first")),
        ("pooling (second)", (None, "second")),
        ("cross", ("first", "second")),
    ]
    assert found["encoder (first)"].answers[0].weights.equal(weights[:2])
    assert found["encoder (second)"].answers[0].weights.equal(weights[2:])
    assert found["encoder (first)"].answers[1].weights is None
    maps = attention_maps(found, 1, {"first": 2, "second": 3, "label": 1})
    assert [(one.queries, one.keys, len(one.weights[0])) for one in maps] == [
        ("first", "first", 2),
        ("second", "second", 3),
        ("first", "second", 2),
    ]
    torch.testing.assert_close(torch.tensor(maps[1].weights), weights[3], rtol=0, atol=5.1e-5)


def test_each_text_has_the_lowest_layer_that_looks_at_it_from_the_other():
    first, second = alignment_views(PAIR)
    assert (first.rows, first.columns, first.about) == (COLUMNS["second"], COLUMNS["first"], "second looks at first")
    assert first.weights == [[pytest.approx(0.8), 0.1, 0.1], [0.1, 0.1, 0.8]]
    assert (second.rows, second.columns, second.about) == (COLUMNS["first"], COLUMNS["second"], "first looks at second")


def test_a_learned_question_stands_for_the_label():
    asked = AttentionMap("pooling", "pooling", 0, [[[0.5, 0.5], [0.0, 1.0]]], "", "second")
    (seen,) = alignment_views(of_label(COLUMNS, [asked]))
    assert (seen.rows, seen.columns, seen.about) == (["no", "no"], COLUMNS["second"], "label looks at second")


def test_a_terminal_shows_both_ways():
    lines = told(PAIR).splitlines()
    assert lines[2:5] == ["second looks at first", "  cats ← a 80%, dog 10%, </s> 10%", "cats │▓▓  │"]
    assert "first looks at second" in lines and "  dog ← </s> 75%, cats 25%" in lines


def test_a_picture_holds_both_ways():
    picture = ET.fromstring(svg_of(PAIR))
    tips = [title.text for title in picture.iter() if title.tag.endswith("title") and " → " in (title.text or "")]
    assert tips == ["cats → a: 0.800", "cats → dog: 0.100", "a → cats: 0.500", "dog → cats: 0.250"]
    assert by_words(PAIR) == (["a", "dog"], ["cats"], [[pytest.approx(0.8), 0.1]])
    (below,) = (one for one in picture.iter() if one.get("transform", "").startswith("translate(0 "))
    heights = [int(box.get("height")) for box in picture.iter() if box.get("fill") == "#ffffff"]
    assert below.get("transform") == f"translate(0 {heights[0]})" and int(picture.get("height")) == sum(heights)


def test_json_names_the_sides_of_every_map():
    found = to_json([Prediction("a dog\tcats", "no", -1.0, explanation=PAIR)])["predictions"][0]["explanation"]
    assert found["columns"]["second"]["tokens"] == COLUMNS["second"]
    assert [(one["queries"], one["keys"]) for one in found["maps"]][1:3] == [("first", "second"), ("second", "first")]


def test_a_png_holds_both_ways():
    """As wide as the wider one, as high as both."""
    both, one = (png_of(replace(PAIR, maps=PAIR.maps[:count])) for count in (3, 2))
    sizes = [struct.unpack(">II", picture[16:24]) for picture in (both, one)]
    assert sizes[0][1] > 1.5 * sizes[1][1] and sizes[0][0] >= sizes[1][0]
