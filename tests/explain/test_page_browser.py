"""The page in a real browser, opened from disk: Debian's chromium (apt-get install chromium)."""

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from axe_playwright_python.sync_playwright import Axe

from regard.explain import fragment, page, to_json
from regard.results import AttentionMap, Explanation, Prediction

pytestmark = pytest.mark.slow

HOSTILE = ["▁</script><img src=x onerror=alert(1)>", "▁<svg/onload=alert(2)>", "▁\u2028\u202e", "▁\ud800", "▁\"'&amp;"]
OPACITIES = "cells => cells.map(cell => cell.getAttribute('fill-opacity'))"
WEIGHTS = "tokens => tokens.map(token => parseFloat(token.style.getPropertyValue('--weight')))"


def test_pointing_at_a_word_shows_what_it_looked_at(visit, house):
    seen = visit(house)
    seen.all(".queries .token").nth(2).hover()
    weights = seen.all(".keys .token").evaluate_all(WEIGHTS)
    assert weights.index(max(weights)) == 2  # house ← Haus, of both its pieces
    assert max(weights) > 80
    assert weights[4] < 5
    assert seen.all(".readout").inner_text().replace("\u2068", "").startswith("“house\u2069” attends to Haus")
    seen.all(".keys .token").nth(4).hover()
    weights = seen.all(".queries .token").evaluate_all(WEIGHTS)
    assert weights.index(max(weights)) == 4  # klein → small


def test_a_click_pins_and_escape_frees(visit, house):
    seen = visit(house)
    pinned = seen.all(".queries .token").nth(0)
    pinned.click()
    seen.all("h1").hover()
    assert pinned.get_attribute("aria-pressed") == "true"
    seen.tab.keyboard.press("Escape")
    assert pinned.get_attribute("aria-pressed") == "false"


def test_the_map_has_a_cell_for_every_pair(visit, house):
    seen = visit(house)
    assert seen.all(".heat .cell").count() == 5 * 5
    seen.all(".choice button:text-is('Pieces')").click()
    assert seen.all(".heat .cell").count() == 6 * 6
    seen.all(".check input").check()
    assert seen.all(".heat .cell").count() == 7 * 7
    assert seen.texts(".keys .token")[-1] == "</s>"


def test_layers_and_heads_change_the_picture(visit, house):
    seen = visit(house)
    pictures = [seen.all(".heat .cell").evaluate_all(OPACITIES)]
    choices = [
        ("Attention", "cross"),
        ("Head", "3"),
        ("Layer", "2"),
        ("Head", "all"),
        ("Merge heads by", "strongest"),
        ("Attention", "encoder"),
    ]
    for chosen, value in [*choices, ("Merge heads by", "rollout")]:
        seen.tab.get_by_role("combobox", name=re.compile(f"^{chosen}")).select_option(value)
        pictures.append(seen.all(".heat .cell").evaluate_all(OPACITIES))
    seen.all(".tile").nth(5).dblclick()
    selectors = [seen.tab.get_by_role("combobox", name=re.compile(f"^{name}")) for name in ("Layer", "Head")]
    assert [selector.input_value() for selector in selectors] == ["1", "1"]
    assert all(before != after for before, after in pairwise(pictures))


def test_inside_the_translation_a_word_looks_at_those_before_it(visit, house):
    """Every piece looks wholly at what was read last: the piece before it, the first one at the start."""
    target = house.explanation.target_tokens
    last = [[float(read == piece) for read in range(len(target))] for piece in range(len(target))]
    maps = [AttentionMap("decoders.translate.own", "decoder", 0, [last])]
    seen = visit(replace(house, explanation=replace(house.explanation, maps=maps)))
    seen.tab.get_by_role("combobox", name="Attention").select_option("decoder")
    seen.all(".choice button:text-is('Pieces')").click()
    seen.all(".check input").check()
    assert seen.texts(".queries .token") == ["▁the", "▁old", "▁house", "▁is", "▁sm", "all", "</s>"]
    assert seen.texts(".keys .token") == ["<s>", "▁the", "▁old", "▁house", "▁is", "▁sm", "all"]
    for piece in range(len(target)):
        seen.all(".queries .token").nth(piece).hover()
        weights = seen.all(".keys .token").evaluate_all(WEIGHTS)
        assert [place for place, weight in enumerate(weights) if weight > 50] == [piece]
    seen.all(".check input").uncheck()
    seen.all(".choice button:text-is('Words')").click()
    assert seen.texts(".keys .token") == ["<s>", *seen.texts(".queries .token")]
    assert seen.texts(".queries .token") == ["the", "old", "house", "is", "small"]
    seen.all(".queries .token").nth(0).hover()
    assert seen.all(".readout").inner_text().replace("\u2068", "").startswith("“the\u2069” attends to <s>")
    seen.all(".queries .token").nth(4).hover()  # small, of whose two pieces one looked at the word before
    weights = seen.all(".keys .token").evaluate_all(WEIGHTS)
    assert [place for place, weight in enumerate(weights) if weight > 40] == [4, 5]


def test_a_text_without_a_source_is_called_no_translation(visit, house):
    own = [each for each in house.explanation.maps if each.kind == "decoder"]
    found = Explanation.of_text([], house.explanation.target_tokens, [], [], own)
    unsure = [-2.0] * len(found.target_tokens)
    seen = visit(replace(house, source="the old", explanation=found, log_probs=unsure))
    warnings = [
        "The model is unsure of most of this text: do not rely on it.",
        "这段文本大部分置信度低，请勿依赖。",
    ]
    assert seen.texts(".warnings p") == warnings[:1]
    for told in (("Text", "Inside the text", "Translation"), ("文本", "文本内部", "译文")):
        text, inside, translation = told
        assert seen.all(".stage .side-title").all_text_contents() == [text, text]
        assert seen.all("#texts h2").all_text_contents()[1] == text
        assert not [title for title in seen.all("h2, .note").all_text_contents() if translation in title]
        assert seen.all(".controls select").first.locator("option").all_inner_texts() == [inside]
        assert translation not in seen.all("figcaption").first.inner_text()
        assert not re.search("translat|译", seen.all("#main").inner_text(), re.IGNORECASE)
        seen.all("#language").click()
    seen.all("#language").click()
    assert seen.texts(".warnings p") == warnings[1:]


def test_one_cell_follows_the_arrows(visit, house):
    seen = visit(house)
    seen.all('.heat [tabindex="0"]').focus()
    for key in ("ArrowRight", "ArrowDown"):
        seen.tab.keyboard.press(key)
    assert seen.all(".heat .cell:focus").get_attribute("aria-label") == "“old” attends to “alte”: 75%"


def test_two_languages(visit, house):
    seen = visit(house)
    assert seen.all(".map-card h2").inner_text() == "Attention map"
    assert seen.all("#language").inner_text() == "中文"
    seen.all("#language").click()
    assert seen.all(".map-card h2").inner_text() == "注意力分布"
    assert seen.all("html").get_attribute("lang") == "zh-CN"
    seen.all("#language").click()
    assert seen.all(".map-card h2").inner_text() == "Attention map"
    assert visit(house, locale="zh-CN").all(".map-card h2").inner_text() == "注意力分布"


def test_both_languages_have_every_text(visit, house):
    chinese = visit(replace(house, finished=False), locale="zh-CN")
    assert "undefined" not in chinese.all("body").inner_text()
    assert not re.search("[A-Za-z]{8,}", " ".join(chinese.texts("h2, label, summary, figcaption, .legend, .side")))


def test_hostile_tokens_are_shown_and_do_nothing(visit, make):
    seen = visit(make(HOSTILE, HOSTILE, range(5)))
    seen.tab.wait_for_timeout(300)
    assert seen.all("img").count() == 0
    assert seen.texts(".keys .token") == [
        "</script><img␣src=x␣onerror=alert(1)>",
        "<svg/onload=alert(2)>",
        "⟨U+2028⟩⟨U+202E⟩",
        "⟨U+D800⟩",
        "\"'&amp;",
    ]


def test_a_narrow_screen_never_scrolls_sideways(visit, make):
    long = [f"▁word{place}" for place in range(30)]
    seen = visit(make(long, long, range(30)), make(["▁a"], ["▁b"], [0]), viewport={"width": 390, "height": 800})
    assert seen.tab.evaluate("document.documentElement.scrollWidth") == 390
    seen.all("#sentences button").nth(1).click()
    assert seen.texts(".queries .token") == ["b"]


def test_nothing_of_the_maps_is_cut_off_without_a_sign(visit, make):
    words = [f"▁word{place}" for place in range(18)]
    seen = visit(make(words, words, range(18)), viewport={"width": 320, "height": 800})
    inside = "all => all.every(each => each.getBoundingClientRect().right <= innerWidth - 12)"
    assert seen.all(".tile").evaluate_all(inside)
    heat = seen.all(".heat")
    seen.all(".heat.more-right:not(.more-left)").wait_for()
    heat.evaluate("box => box.scrollTo(box.scrollWidth, 0)")
    seen.all(".heat.more-left:not(.more-right)").wait_for()
    seen.tab.set_viewport_size({"width": 1200, "height": 800})
    seen.all(".heat:not(.more-left):not(.more-right)").wait_for()
    columns = [seen.all(f".{name}-card").bounding_box() for name in ("words", "candidates", "map", "overview")]
    assert [(box["x"], box["width"]) for box in columns[:2]] == [(box["x"], box["width"]) for box in columns[2:]]


def test_all_candidates_can_be_read(visit, house):
    others = [Prediction("", " ".join([f"word{place}"] * 30), -1.0 - place) for place in range(9)]
    seen = visit(replace(house, alternatives=others), viewport={"width": 1200, "height": 800})
    listed = seen.all(".candidates button")
    assert listed.count() == 7
    assert listed.last.inner_text() == "4 more …"
    listed.last.press("Enter")
    assert listed.count() == 10
    assert listed.nth(6).evaluate("each => each === document.activeElement")
    assert seen.all(".candidates").evaluate("list => list.scrollHeight <= list.clientHeight")


def test_pages_with_little_to_show(visit):
    assert visit().all("#empty").is_visible()
    bare = visit(Prediction("a", "only text", -1.0))
    assert bare.all(".plain").inner_text() == "only text"
    assert bare.all(".note:not(#empty)").is_visible()
    empty = visit(Prediction("", "", 0.0, explanation=Explanation.of_text([], [], [], [])))
    assert empty.all(".heat .cell").count() == 0


def test_the_texts_stand_at_the_top_to_be_read(visit, house):
    seen = visit(house)
    assert seen.texts("#texts p") == ["das alte Haus ist klein", "the old house is small"]
    seen.all(".candidates button").nth(1).click()
    assert seen.texts("#texts p")[1] == "the old house is small also"
    seen.all("#language").click()
    assert seen.texts("#texts h2") == ["原文", "译文"]


def test_right_to_left_runs_so(visit, make):
    seen = visit(make(["▁كتاب", "▁جديد"], ["▁new", "▁book"], [1, 0]))
    first, second = (seen.all(".keys .token").nth(place).bounding_box() for place in range(2))
    assert first["x"] > second["x"]
    first, second = (seen.all(".heat .cell").nth(place).bounding_box() for place in range(2))
    assert first["x"] > second["x"]


@pytest.mark.parametrize("name", ["Plot (SVG)", "Words (SVG)"])
def test_the_picture_can_be_saved(visit, house, name):
    text = visit(house).saved(name).decode()
    assert text.startswith("<svg")
    assert "house" in text


def test_a_fragment_draws_inside_its_frame(visit, house):
    seen = visit(html=f"<!doctype html><body>{fragment(to_json([house]))}")
    assert seen.tab.frame_locator("iframe").locator(".heat .cell").count() == 25


@pytest.mark.parametrize("settings", [{}, {"color_scheme": "dark"}, {"viewport": {"width": 320, "height": 700}}])
def test_axe_finds_nothing_serious(visit, house, settings):
    seen = visit(house, house, **settings)
    seen.all(".map-card summary").click()
    seen.all(".queries .token").nth(1).click()
    found = Axe().run(seen.tab).response["violations"]
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []


def signed() -> Prediction:
    """Scores as weights: none is a share, and some are below zero."""
    weights = [[0.5, -2.0, 0.1], [4.0, 1.0, 0.0]]
    maps = [AttentionMap("m", "cross", 0, [weights, [[-0.5, 3.0, 0.1], [1.0, 1.0, 0.0]]])]
    found = Explanation.of_text(["▁a", "▁b", "▁c"], ["▁x", "▁y"], [(0, 0), (0, 1)], weights, maps)
    return Prediction("a b c", "x y", 0.0, explanation=found)


def test_weights_below_zero_are_seen_and_no_per_cents(visit):
    seen = visit(signed())
    assert seen.all(".heat .cell").evaluate_all(OPACITIES) == ["0.125", "0.500", "0.025", "1.000", "0.250", "0.000"]
    assert seen.all(".heat .cell.below").count() == seen.all(".heat .bar").count() == 1
    seen.all(".queries .token").nth(0).hover()
    told = seen.all(".readout").inner_text().replace("\u2068", "").replace("\u2069", "")
    assert told == "“x” attends to b −2 · a 0.5"
    assert seen.all(".keys .token.below").count() == seen.all(".links path.below").count() == 1
    caption = seen.all("figcaption").inner_text()
    assert "do not sum to one" in caption and "Full colour: 4." in caption and "negative" in caption
    seen.all(".map-card summary").click()
    seen.all(".table table").wait_for()  # drawn when the browser tells of the opening, which is a moment later
    assert "−2.000" in seen.all(".table").inner_text()
    assert "−2" in seen.saved("Plot (SVG)").decode()


def test_the_greatest_of_heads_keeps_its_sign_and_shares_stay_per_cents(visit, house):
    seen = visit(signed())
    seen.tab.get_by_role("combobox", name="Attention").select_option("cross")
    seen.tab.get_by_role("combobox", name="Merge heads by").select_option("strongest")
    labels = seen.all(".heat .cell").evaluate_all("cells => cells.map(cell => cell.getAttribute('aria-label'))")
    assert [label.rpartition(" ")[2] for label in labels] == ["0.5", "3", "0.1", "4", "1", "0"]
    plain = visit(house)
    assert "no shares" not in plain.all("figcaption").inner_text()
    plain.tab.get_by_role("combobox", name="Attention").select_option("cross")
    for join in ("average", "strongest"):  # also of a word of two pieces
        plain.tab.get_by_role("combobox", name="Merge heads by").select_option(join)
        labels = plain.all(".heat .cell").evaluate_all("cells => cells.map(cell => cell.getAttribute('aria-label'))")
        assert all(re.search(r": (100|\d?\d)%$", label) for label in labels)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_below_zero(visit, scheme):
    seen = visit(signed(), color_scheme=scheme)
    seen.all(".queries .token").nth(0).click()
    found = Axe().run(seen.tab).response["violations"]
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []


def test_the_page_opens_as_it_was_saved(visit, house):
    data = {**to_json([house]), "state": {"kind": "cross", "heads": ["1/2"], "pinned": {"line": "queries", "at": 1}}}
    seen = visit(html=page(data))
    assert seen.all(".tile[aria-pressed=true]").get_attribute("aria-label") == "Layer 2, head 3"
    assert seen.all(".queries .token").nth(1).get_attribute("aria-pressed") == "true"
