"""Pictures read back: SVG as XML, PNG by its header."""

import io
import struct
import sys
import warnings
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import RegardError
from regard.explain import by_words, png, svg
from regard.explain.pictures import BELOW, CELL, SHADE
from regard.results import Explanation

NAME = "{http://www.w3.org/2000/svg}"
HOSTILE = ["<script>alert(1)</script>", '"', "'", "&amp;", "]]>", "\0\x1b[2J", "\u202e", "\ud800", "\uffff", "$x^{", ""]
PNG = b"\x89PNG\r\n\x1a\n"


def cells(picture: str) -> list[ET.Element]:
    return [rect for rect in ET.fromstring(picture).iter(f"{NAME}rect") if rect.find(f"{NAME}title") is not None]


def size(picture: str) -> tuple[int, int]:
    root = ET.fromstring(picture)
    return int(root.attrib["width"]), int(root.attrib["height"])


def test_a_cell_for_each_pair_as_strong_as_its_weight():
    picture = svg(["a", "b"], ["x"], [[0.25, 0.75]])
    assert [cell.attrib["fill-opacity"] for cell in cells(picture)] == ["0.250", "0.750"]
    assert [cell[0].text for cell in cells(picture)] == ["x → a: 0.250", "x → b: 0.750"]


def test_cells_stand_in_rows_and_columns():
    first, second, below, _ = cells(svg(["a", "b"], ["x", "y"], [[1, 0], [0, 1]]))
    assert int(second.attrib["x"]) - int(first.attrib["x"]) == CELL
    assert int(below.attrib["y"]) - int(first.attrib["y"]) == CELL
    assert below.attrib["x"] == first.attrib["x"]


def test_columns_of_a_script_from_right_to_left_run_so():
    first, second = cells(svg(["שלום", "עולם"], ["x"], [[1, 0]]))
    assert int(first.attrib["x"]) - int(second.attrib["x"]) == CELL


def test_an_explanation_is_drawn_by_words():
    found = Explanation.of_text(
        ["▁ca", "f", "<0xC3>", "<0xA9>", "</s>"], ["▁x", "</s>"], [], [[0.1] * 4 + [0.6], [0] * 5]
    )
    sources, targets, weights = by_words(found)
    assert (sources, targets) == (["café"], ["x"])
    assert weights == [[pytest.approx(0.4)]]


def test_weights_out_of_range_are_shown_by_the_greatest_with_their_sign():
    picture = svg(["a", "b", "c"], ["x"], [[-3.5, 7.0, float("nan")]])
    drawn = cells(picture)
    assert [cell.attrib["fill-opacity"] for cell in drawn] == ["0.500", "1.000"]  # NaN: a gap
    assert [cell.attrib["fill"] for cell in drawn] == [BELOW, SHADE]
    assert drawn[0][0].text == "x → a: -3.500"
    assert len(list(ET.fromstring(picture).iter(f"{NAME}path"))) == 1  # the bar
    assert [text.text for text in ET.fromstring(picture).iter(f"{NAME}text")][-1] == (
        "full colour: 7, with a bar: below zero"
    )
    assert size(picture)[1] > size(svg(["a", "b", "c"], ["x"], [[0.5, 0.5, 0.0]]))[1]


def test_hostile_tokens_stay_text():
    picture = svg(HOSTILE, HOSTILE, [[0.5] * len(HOSTILE)] * len(HOSTILE), title="<b>&\0\ud800")
    assert {element.tag.removeprefix(NAME) for element in ET.fromstring(picture).iter()} == {
        "svg",
        "g",
        "rect",
        "text",
        "title",
    }
    texts = [element.text for element in ET.fromstring(picture).iter(f"{NAME}text")]
    assert texts[0] == "<b>&␀⟨U+D800⟩"
    assert "<script>alert(1)</script>" in texts
    picture.encode("utf-8")


@given(st.lists(st.text(st.characters(exclude_categories=())), max_size=4))
def test_any_token_makes_well_formed_xml(tokens):
    root = ET.fromstring(svg(tokens, tokens, [[0.5] * len(tokens)] * len(tokens)).encode("utf-8"))
    assert len(list(root.iter(f"{NAME}text"))) == 1 + 2 * len(tokens)


@pytest.mark.parametrize(("sources", "targets", "weights"), [([], [], []), ([], ["x"], [[]]), (["a"], [], [])])
def test_an_empty_map_is_still_a_picture(sources, targets, weights):
    picture = svg(sources, targets, weights)
    assert cells(picture) == []
    assert min(size(picture)) > 0


def test_the_picture_is_as_wide_as_its_title():
    title = "a title of some length"
    assert size(svg(["a"], ["x"], [[1.0]], title=title))[0] > 7 * len(title)


@pytest.mark.parametrize("draw", [svg, png])
@pytest.mark.parametrize("weights", [[], [[1.0]], [[0.5, 0.5], [0.5, 0.5]]])
def test_counts_that_do_not_agree_are_told(draw, weights):
    with pytest.raises(RegardError, match=r"1 rows \(target\) of 2 columns"):
        draw(["a", "b"], ["x"], weights)


def test_png():
    picture = png(["a", "b"], ["x"], [[0.25, 0.75]])
    assert picture.startswith(PNG)
    width, height = struct.unpack(">II", picture[16:24])
    assert width > height > 0


def test_png_of_weights_below_zero():
    """The same shape of weights in shares and in scores: the scores come with a bar of colours."""
    sizes = [
        len(set(struct.iter_unpack("4B", pixels(png(["a", "b"], ["x"], [row]))))) for row in ([0.25, 0.75], [-3.0, 5.0])
    ]
    assert sizes[1] > 2 * sizes[0]


def pixels(picture: bytes) -> bytes:
    from matplotlib import image

    return (image.imread(io.BytesIO(picture)) * 255).astype("uint8").tobytes()


def test_png_of_hostile_tokens_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture = png(HOSTILE, ["\U0001f600", "你好"], [[0.1] * len(HOSTILE)] * 2, title="$\\frac{")
    assert picture.startswith(PNG)


def test_png_of_nothing():
    assert png([], [], []).startswith(PNG)


def test_png_without_matplotlib_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(RegardError, match=r"pip install -e '\.\[plot\]'"):
        png(["a"], ["x"], [[1.0]])
