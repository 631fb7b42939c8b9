"""What is shown, as files: each says what the page said."""

import csv
import io
import json
from xml.etree import ElementTree

import pytest
from fake_api import PEAK
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

SVG = "{http://www.w3.org/2000/svg}"
WORDS = ["das", "alte", "Haus", "ist", "klein"], ["the", "old", "house", "is", "small"]


@pytest.fixture
def page(visit):
    opened = visit()
    opened.write()
    opened.explained()
    opened.word("Translation", "house").click()
    return opened


def test_the_map_as_svg(page):
    root = ElementTree.fromstring(page.saved("Plot (SVG)"))
    tips = [each.text for each in root.iter(f"{SVG}title")]
    assert tips[0] == "the old house is small"
    assert "“house” attends to “Haus”: 80%" in tips
    assert len(tips) == 1 + 25
    opacities = {float(each.get("fill-opacity")) for each in root.iter(f"{SVG}rect") if each.get("fill-opacity")}
    assert opacities == {PEAK, 0.04}
    assert sum(each.get("stroke") is not None for each in root.iter(f"{SVG}rect")) == 1  # the band of the pinned word
    assert {each.text for each in root.iter(f"{SVG}text")} == {*WORDS[0], *WORDS[1]}


def test_the_words_as_svg(page):
    root = ElementTree.fromstring(page.saved("Words (SVG)"))
    assert [each.text for each in root.iter(f"{SVG}text")] == [*WORDS[0], *WORDS[1]]
    assert len(list(root.iter(f"{SVG}path"))) == 1  # the curve of the pinned word


@pytest.mark.parametrize("name", ["Plot (PNG)", "Words (PNG)"])
def test_a_picture_of_pixels(page, name):
    content = page.saved(name)
    assert content.startswith(b"\x89PNG")
    colours = page.tab.evaluate(
        """async (bytes) => {
            const image = await createImageBitmap(new Blob([new Uint8Array(bytes)], { type: "image/png" }));
            const pen = new OffscreenCanvas(image.width, image.height).getContext("2d");
            pen.drawImage(image, 0, 0);
            return new Set(new Uint32Array(pen.getImageData(0, 0, image.width, image.height).data.buffer)).size;
        }""",
        list(content),
    )
    assert colours > 10


def test_the_numbers_as_csv(page):
    rows = list(csv.reader(io.StringIO(page.saved("Numbers (CSV)").decode("utf-8-sig"))))
    assert rows[0] == ["", *WORDS[0]]
    assert rows[3] == ["house", "0.04", "0.04", "0.8", "0.04", "0.04"]
    assert [row[0] for row in rows[1:]] == WORDS[1]


def test_weights_that_are_not_shown_are_no_zeros(page):
    slider = page.view.get_by_role("slider")
    slider.focus()
    for _ in range(14):
        page.tab.keyboard.press("ArrowLeft")
    rows = list(csv.reader(io.StringIO(page.saved("Numbers (CSV)").decode("utf-8-sig"))))
    assert rows[0] == ["strongest 30%", *WORDS[0]]
    assert rows[3] == ["house", "", "", "0.8", "", ""]


def test_no_two_files_have_one_name(page):
    names = []
    for name in ("Plot (SVG)", "Plot (PNG)", "Words (SVG)", "Words (PNG)"):
        page.view.locator(".menu summary").click()
        with page.tab.expect_download() as waited:
            page.button(name).click()
        names.append(waited.value.suggested_filename)
    assert names == [f"regard-de-en-{part}" for part in ("map.svg", "map.png", "words.svg", "words.png")]


def test_a_formula_is_none_in_a_table(visit):
    page = visit()
    page.write("=1+1 @x")
    page.explained()
    rows = list(csv.reader(io.StringIO(page.saved("Numbers (CSV)").decode("utf-8-sig"))))
    assert rows[0] == ["", "'=1+1", "'@x"]


def test_all_as_json(page):
    told = json.loads(page.saved("All data (JSON)"))
    assert told["predictions"][0]["text"] == "the old house is small"
    assert told["shown"]["rows"] == WORDS[1]
    assert told["shown"]["weights"][2][2] == PEAK
    assert told["state"]["pinned"] == {"line": "queries", "at": 2}


def test_a_page_that_works_from_disk(page, browser, tmp_path):
    page.view.get_by_role("combobox", name="Attention").select_option("encoder")
    page.button("Layer 2, head 3").dblclick()
    (tmp_path / "saved.html").write_bytes(page.saved("Stand-alone page (HTML)"))
    saved = type(page)(browser, (tmp_path / "saved.html").as_uri())
    expect(saved.tab.get_by_role("combobox", name="Attention")).to_have_value("encoder")
    expect(saved.button("Layer 2, head 3")).to_have_attribute("aria-pressed", "true")
    expect(saved.tab.locator(".tile[aria-pressed=true]")).to_have_count(1)
    assert saved.faults == []
    saved.context.close()
