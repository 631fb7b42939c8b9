"""The views of an explanation: of several columns, of a memory step by step, and what pictures show of them."""

import io
import struct
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
import torch
from explanations import of_label
from networks import build_language_model
from rich.console import Console
from tasks import language_model_of

from regard.answers import show
from regard.attention import EACH, Attended, Recorded, Role
from regard.errors import RegardError
from regard.explain import by_words, png_of, svg, svg_of, to_json
from regard.explain.alignment_view import OWN_WORDS, START, alignment_view, alignment_views
from regard.explain.maps import apart, attention_maps, without_end
from regard.registry import Choice
from regard.results import AttentionMap, ColumnLink, Explanation, Prediction, TokenRole, Tokens
from regard.text import train_tokenizer

HEADS = [[[1.0, 0.0], [0.2, 0.8]], [[1.0, 0.0], [0.6, 0.4]]]
FIRST = AttentionMap("a", "decoder", 0, [[[1.0, 0.0], [1.0, 0.0]]])
MAPS = [FIRST, AttentionMap("b", "decoder", 1, HEADS)]
OWNED = Explanation({"text": Tokens(["▁the", "</s>"], TokenRole.WRITTEN)}, maps=MAPS)


def told(found: Explanation) -> str:
    file = io.StringIO()
    show([Prediction("", "the", -1.0, explanation=found)], Console(file=file, width=200))
    return file.getvalue()


def test_the_last_layer_is_averaged_over_its_heads():
    seen = alignment_view(OWNED)
    assert (seen.columns, seen.rows, seen.about) == ([START, "▁the"], ["▁the", "</s>"], OWN_WORDS)
    assert seen.weights == [[1.0, 0.0], [pytest.approx(0.4), pytest.approx(0.6)]]


def test_a_terminal_shows_it_and_says_where_the_rest_is():
    lines = told(OWNED).splitlines()
    assert lines[2:4] == [OWN_WORDS, f"  the ← {START} 100%"]
    assert "--html" in OWN_WORDS and "--json" in OWN_WORDS


def test_an_alignment_comes_before_it():
    found = Explanation.of_text(["▁das", "</s>"], ["▁the", "</s>"], [], [[0.9, 0.1], [0.1, 0.9]], MAPS)
    assert alignment_view(found)[:4] == (["▁das", "</s>"], ["▁the", "</s>"], [[0.9, 0.1], [0.1, 0.9]], "")


def test_what_is_cut_off_has_as_many_columns_as_weights():
    found = without_end(OWNED)
    assert alignment_view(found).columns == [START] and alignment_view(found).weights == [[1.0]]


def test_without_any_map_there_is_no_picture():
    found = replace(OWNED, maps=[])
    assert alignment_view(found) is None and "│" not in told(found)
    with pytest.raises(RegardError, match="single words"):
        by_words(found)


def test_each_word_of_a_language_model_is_written_by_what_was_there():
    tokenizer = train_tokenizer(Choice("words"), ["a dog sees two cats"])
    decoder = Choice("transformer", {"num_layers": 2, "feedforward_dim": 8})
    model = build_language_model(dict(dim=8, decoder=decoder), len(tokenizer)).eval()
    task = language_model_of(tokenizer)
    found = task.explain(model, task.batch(task.encode([task.texts.scored("a dog", "sees cats")])))[0]
    columns, rows, weights = by_words(found)
    assert columns == [START, "a", "dog", "sees", "cats"] and rows == columns[1:]
    assert [sum(weight > 0 for weight in row) for row in weights] == [1, 2, 3, 4]
    assert [sum(row) for row in weights] == pytest.approx([1.0] * 4, abs=1e-3)
    tips = [title.text for title in ET.fromstring(svg(columns, rows, weights)).iter() if " → " in (title.text or "")]
    assert tips[0] == f"a → {START}: 1.000"


# Heads of a memory step by step: what a terminal and a picture show of their maps


WRITES = [[0.97, 0.02, 0.0, 0.0, 0.01], [0.04, 0.0, 0.0, 0.0, 0.96], [0.0, 0.0, 0.0, 0.9, 0.1]]
READS = [[1.0, 0.0, 0.0, 0.0, 0.0], [0.7, 0.3, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0]]
COLUMNS = {
    "given": Tokens(["1,0"], TokenRole.GIVEN),
    "wanted": Tokens(["1,0"], TokenRole.ITEMS),
    "steps": Tokens(["1,0", "·", "1,0"], TokenRole.DERIVED),
    "slots": Tokens(["0", "1", "2", "3", "4"], TokenRole.DERIVED),
    "read": Tokens(["1,0", "·"]),
}
FOUND = Explanation(
    COLUMNS,
    [ColumnLink("read", "wanted", [(0, 0)], [[1.0, 0.0]])],
    [
        AttentionMap("write_head.0", "memory", 0, [WRITES], "steps", "slots"),
        AttentionMap("read_head.0", "memory", 0, [READS], "steps", "slots"),
    ],
)


def test_slots_that_no_head_was_at_are_left_out():
    """The slots are a circle: it is opened where it is emptiest."""
    alignment, writes, reads = alignment_views(FOUND)
    assert alignment.weights == FOUND.link.weights
    for seen, weights in ((writes, WRITES), (reads, READS)):
        assert (seen.columns, seen.rows) == (["3", "4", "0", "1"], COLUMNS["steps"].texts)
        assert seen.weights == [[row[slot] for slot in (3, 4, 0, 1)] for row in weights]
    assert [seen.about.split(":")[0] for seen in (writes, reads)] == ["write_head.0", "read_head.0"]


@pytest.mark.parametrize("slots", [1, 5])
def test_a_head_that_was_everywhere_shows_all_slots(slots):
    rows = [[1 / slots] * slots] * 3
    found = replace(FOUND, maps=[AttentionMap("w", "memory", 0, [rows], "steps", "slots")])
    assert alignment_views(found)[1].columns == COLUMNS["slots"].texts[:slots]


def test_a_terminal_and_a_picture_show_each_head():
    file = io.StringIO()
    show([Prediction("1 0", "1 0", -0.1, explanation=FOUND)], Console(file=file, width=200))
    assert "write_head.0: slots of the memory at each of the steps" in file.getvalue()
    assert "· ← 4 96%" in file.getvalue()  # two steps write the same: they are numbered, the mark is not
    assert "read_head.0: slots of the memory at each of the steps" in svg_of(FOUND)


def test_json_holds_every_slot():
    (told,) = to_json([Prediction("1 0", "1 0", -0.1, explanation=FOUND)])["predictions"]
    assert [(one["kind"], one["weights"]) for one in told["explanation"]["maps"]] == [
        ("memory", [WRITES]),
        ("memory", [READS]),
    ]
    assert told["explanation"]["columns"]["slots"]["tokens"] == COLUMNS["slots"].texts


# What looks from one text at another: a map for each text, and a view of each


TEXTS = {"first": ["▁a", "▁dog", "</s>"], "second": ["▁cats", "</s>"], "label": ["no"]}
FORTH = [[[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]]]
BACK = [[[0.9, 0.1, 0.0], [0.2, 0.2, 0.6]], [[0.7, 0.1, 0.2], [0.0, 0.0, 1.0]]]
OWN = [[[1.0, 0.0], [0.0, 1.0]]]
PAIR = of_label(
    TEXTS,
    [
        AttentionMap("own", "encoder", 0, OWN, "second", "second"),
        AttentionMap("forth", "cross", 0, FORTH, "first", "second"),
        AttentionMap("back", "cross", 1, BACK, "second", "first"),
        AttentionMap("higher", "cross", 2, [[[0.0, 0.0, 1.0]] * 2], "second", "first"),
    ],
)


def told_columns(found: Explanation) -> str:
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
    assert (first.rows, first.columns, first.about) == (
        TEXTS["second"],
        TEXTS["first"],
        "second attends to first",
    )
    assert first.weights == [[pytest.approx(0.8), 0.1, 0.1], [0.1, 0.1, 0.8]]
    assert (second.rows, second.columns, second.about) == (
        TEXTS["first"],
        TEXTS["second"],
        "first attends to second",
    )


def test_a_learned_question_stands_for_the_label():
    asked = AttentionMap("pooling", "pooling", 0, [[[0.5, 0.5], [0.0, 1.0]]], "", "second")
    (seen,) = alignment_views(of_label(TEXTS, [asked]))
    assert (seen.rows, seen.columns, seen.about) == (
        ["no", "no"],
        TEXTS["second"],
        "label attends to second",
    )


def test_a_terminal_shows_both_ways():
    lines = told_columns(PAIR).splitlines()
    assert lines[2:5] == ["second attends to first", "  cats ← a 80%, dog 10%, </s> 10%", "cats │▓▓  │"]
    assert "first attends to second" in lines and "  dog ← </s> 75%, cats 25%" in lines


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
    assert found["columns"]["second"]["tokens"] == TEXTS["second"]
    assert [(one["queries"], one["keys"]) for one in found["maps"]][1:3] == [("first", "second"), ("second", "first")]


def test_a_png_holds_both_ways():
    """As wide as the wider one, as high as both."""
    both, one = (png_of(replace(PAIR, maps=PAIR.maps[:count])) for count in (3, 2))
    sizes = [struct.unpack(">II", picture[16:24]) for picture in (both, one)]
    assert sizes[0][1] > 1.5 * sizes[1][1] and sizes[0][0] >= sizes[1][0]
