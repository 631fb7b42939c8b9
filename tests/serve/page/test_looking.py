"""What belongs to what: words, curves, maps, heads, candidates; every number is known."""

import itertools

import pytest
from fake_api import PEAK
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

WEIGHTS = "words => words.map(word => parseFloat(word.style.getPropertyValue('--weight')) || 0)"


def weights(page, selector: str) -> list[float]:
    return page.all(selector).evaluate_all(WEIGHTS)


def test_a_word_shows_what_it_came_from_and_went_to(visit):
    page = visit()
    page.write()
    page.word("Translation", "house").hover()
    assert weights(page, ".keys .token")[2] == 100 * PEAK
    expect(page.lit).to_have_text(["Haus"])  # the others have less than 5 %
    expect(page.output.locator(".word.active")).to_have_text("house")
    page.word("Source", "alte").focus()
    assert weights(page, ".queries .token")[1] == 100 * PEAK
    expect(page.tab.locator(".readout").first).to_contain_text("is attended to by")
    expect(page.tab.locator("#mirror mark.active")).to_have_text("alte")


def test_a_word_stays_pointed_at_from_head_to_head(visit):
    page = visit()
    page.write()
    page.explained()
    page.word("Translation", "house").focus()
    for word in ("Haus", "ist"):  # the second head attends to the next word
        page.tab.keyboard.press(".")
        expect(page.view.locator(".readout")).to_contain_text(f"attends to \u2068{word}\u2069 80%")


def test_a_word_of_the_translation_itself_can_be_pointed_at(visit):
    page = visit()
    page.write()
    page.output.get_by_text("old", exact=True).hover()
    expect(page.lit).to_have_text(["alte"])
    page.output.get_by_text("old", exact=True).click()
    page.tab.locator("h1").hover()
    expect(page.word("Translation", "old")).to_have_attribute("aria-pressed", "true")


@pytest.mark.parametrize("how", ["mouse", "keyboard"])
def test_pinned_and_freed(visit, how):
    page = visit()
    page.write()
    word = page.word("Translation", "house")
    word.click() if how == "mouse" else word.press("Enter")
    page.tab.locator("h1").hover()
    expect(word).to_have_attribute("aria-pressed", "true")
    page.tab.keyboard.press("Escape")
    expect(word).to_have_attribute("aria-pressed", "false")


def test_arrows_walk_over_the_words(visit):
    page = visit()
    page.write()
    page.word("Source", "das").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "End"):
        page.tab.keyboard.press(key)
    expect(page.word("Translation", "small")).to_be_focused()
    page.button("Columns").press("Enter")
    page.word("Source", "das").focus()
    page.tab.keyboard.press("ArrowDown")
    expect(page.word("Source", "alte")).to_be_focused()
    page.tab.keyboard.press("ArrowRight")
    expect(page.tab.get_by_role("group", name="Translation", exact=True).locator(":focus")).to_have_count(1)


def test_only_unsure_words_have_a_mark(visit):
    page = visit()
    page.write()
    words = page.view.locator(".queries bdi")
    assert words.evaluate_all("words => words.map(word => word.className)") == ["sure", "sure", "poor", "sure", "poor"]
    lines = "all => all.map(one => getComputedStyle(one).textDecorationLine)"
    assert words.evaluate_all(lines) == ["none", "none", "underline", "none", "underline"]
    assert page.view.locator(".legend span").evaluate_all(lines) == ["underline"]
    assert page.word("Translation", "house").get_attribute("title") == "probability 30%"


@pytest.mark.parametrize("how", ["mouse", "keyboard"])
def test_a_head_in_and_out_and_alone(visit, how):
    page = visit()
    page.write()
    page.explained()
    tile = page.button("Layer 1, head 2")
    tile.click() if how == "mouse" else tile.press("Enter")
    expect(tile).to_have_attribute("aria-pressed", "true")
    expect(page.view.locator(".tile[aria-pressed=true]")).to_have_count(1)
    cell = page.view.get_by_role("gridcell", name="“old” attends to “Haus”: 80%")
    expect(cell).to_be_visible()  # the second head looks one word further on
    other = page.button("Layer 1, head 1")
    other.click() if how == "mouse" else other.press("Enter")
    expect(page.view.get_by_role("gridcell", name="“old” attends to “Haus”: 42%")).to_be_visible()  # of 80 % and 4 %
    page.view.get_by_role("combobox", name="Merge heads by").select_option("strongest")
    expect(cell).to_be_visible()
    page.tab.wait_for_timeout(600)  # so that the next click is no second one
    other.dblclick() if how == "mouse" else other.press("Shift+Enter")
    expect(page.view.locator(".tile[aria-pressed=true]")).to_have_count(1)
    expect(other).to_have_attribute("aria-pressed", "true")
    page.tab.wait_for_timeout(600)
    other.dblclick() if how == "mouse" else other.press("Shift+Enter")
    expect(page.view.locator(".tile[aria-pressed=true]")).to_have_count(6)


def test_layers_and_heads_by_selector_and_by_key(visit):
    page = visit()
    page.write()
    page.explained()
    page.view.get_by_role("combobox", name="Attention").select_option("encoder")
    page.view.get_by_role("combobox", name="Layer").select_option("2")
    expect(page.view.locator(".tile[aria-pressed=true]")).to_have_count(3)
    page.tab.locator("h1").click()
    page.tab.keyboard.press(".")
    expect(page.button("Layer 2, head 1")).to_have_attribute("aria-pressed", "true")
    expect(page.view.locator(".tile[aria-pressed=true]")).to_have_count(1)
    page.tab.keyboard.press("[")
    expect(page.button("Layer 1, head 1")).to_have_attribute("aria-pressed", "true")
    page.tab.keyboard.press(",")
    expect(page.view.locator(".tile[aria-pressed=true]")).to_have_count(3)


@pytest.mark.parametrize(("key", "shown"), [("]", "Layer 1, head 2"), (".", "Layer 2, head 1")])
def test_the_keys_lead_from_the_alignment_to_its_heads(visit, key, shown):
    page = visit()
    page.write()
    page.explained()
    kind = page.view.get_by_role("combobox", name="Attention")
    page.tab.locator("h1").click()
    for back in ("[", ","):
        page.tab.keyboard.press(back)
        expect(kind).to_have_value("alignment")
    page.tab.keyboard.press(key)
    expect(kind).to_have_value("cross")
    expect(page.button(shown)).to_have_attribute("aria-pressed", "true")
    expect(page.view.locator(".tile[aria-pressed=true]")).to_have_count(3 if key == "]" else 2)


@pytest.mark.parametrize("width", [1200, 320])
def test_words_that_do_not_fit_a_line_stand_in_columns(visit, width):
    page = visit(
        "#source=de&target=en&q=" + "+".join(["das+alte+Haus+ist+klein"] * 4), viewport={"width": width, "height": 800}
    )
    page.explained()
    columns = page.button("Columns")
    expect(columns).to_have_attribute("aria-pressed", "true")
    first, second = (page.all(".queries .token").nth(at).bounding_box() for at in (0, 1))
    assert (second["x"], second["y"] > first["y"]) == (first["x"], True)
    page.tab.locator(".queries .token").first.focus()
    page.tab.keyboard.press("ArrowDown")
    expect(page.tab.locator(".queries .token").nth(1)).to_be_focused()
    page.button("Lines").click()
    expect(columns).to_have_attribute("aria-pressed", "false")
    assert (
        page.all(".queries .token").nth(1).bounding_box()["y"] == page.all(".queries .token").first.bounding_box()["y"]
    )
    page.tab.set_viewport_size({"width": 700, "height": 800})
    expect(columns).to_have_attribute("aria-pressed", "false")  # what was chosen stays


def test_the_arrangement_follows_the_room(visit):
    page = visit(viewport={"width": 1200, "height": 800})
    page.write()
    expect(page.button("Lines")).to_have_attribute("aria-pressed", "true")
    page.tab.set_viewport_size({"width": 320, "height": 800})
    expect(page.button("Columns")).to_have_attribute("aria-pressed", "true")


def test_only_the_strongest_of_each_row(visit):
    page = visit()
    page.write()
    slider = page.view.get_by_role("slider")
    slider.focus()
    for _ in range(10):
        page.tab.keyboard.press("ArrowLeft")
    expect(page.view.get_by_text("50%", exact=True)).to_be_visible()
    expect(page.view.get_by_role("gridcell", name="“the” attends to “das”: 80%")).to_be_attached()
    expect(page.view.get_by_role("gridcell", name="“the” attends to “alte”: 0%")).to_be_attached()


def test_the_end_symbol_and_pieces(visit):
    page = visit()
    page.write()
    assert page.view.get_by_role("gridcell").count() == 25
    page.view.get_by_label("End symbol").press("Space")
    assert page.view.get_by_role("gridcell").count() == 36
    page.button("Pieces").press("Enter")
    expect(page.word("Translation", "▁house")).to_be_visible()


@pytest.mark.parametrize("how", ["mouse", "keyboard"])
def test_another_candidate_switches_the_attention(visit, how):
    page = visit()
    page.write()
    candidate = page.tab.get_by_role("button", name="2 the old house is small indeed")
    candidate.click() if how == "mouse" else candidate.press("Enter")
    expect(page.word("Translation", "indeed")).to_be_visible()
    expect(page.output).to_have_text("the old house is small indeed")
    page.word("Translation", "house").hover()
    assert weights(page, ".keys .token")[2] == 100 * PEAK


def test_badges_lead_to_their_words(visit):
    page = visit()
    page.write("das Wort ist klein")
    badge = page.tab.get_by_role("button", name="Wort copied from the source 80%")
    badge.press("Enter")
    expect(page.word("Translation", "Wort")).to_have_attribute("aria-pressed", "true")


def test_sentences_are_looked_at_one_by_one(visit):
    page = visit()
    page.write("das Haus ist klein. Guten Morgen!")
    expect(page.tab.locator(".looked-at")).to_have_text(["Sentence 1 of 2", ""])
    second = page.output.get_by_role("button", name="Good morning!")
    second.press("Enter")
    expect(second).to_be_focused()
    expect(page.word("Translation", "Good")).to_be_visible()
    page.word("Translation", "Good").hover()
    expect(page.lit).to_have_text(["Guten", "Morgen!"])  # the second hardly: it has what the first leaves
    page.output.get_by_text("house", exact=True).click()
    expect(page.word("Translation", "house")).to_be_visible()


def test_cells_are_walked_through(visit):
    page = visit()
    page.write()
    page.view.get_by_role("gridcell", name="“the” attends to “das”: 80%").focus()
    for key in ("ArrowDown", "ArrowRight"):
        page.tab.keyboard.press(key)
    expect(page.view.get_by_role("gridcell", name="“old” attends to “alte”: 80%")).to_be_focused()
    page.tab.keyboard.press("Enter")
    page.tab.locator("h1").hover()
    expect(page.word("Translation", "old")).to_have_attribute("aria-pressed", "true")
    expect(page.word("Source", "alte")).to_have_attribute("aria-pressed", "true")


def test_a_table_stands_beside_the_map(visit):
    page = visit()
    page.write()
    page.view.get_by_text("Table of weights").press("Enter")
    table = page.tab.get_by_role("table")
    expect(table.get_by_role("row").nth(1)).to_contain_text("the0.8000.0400.0400.0400.040")
    expect(table.get_by_role("columnheader")).to_have_text(["das", "alte", "Haus", "ist", "klein"])


def test_right_to_left_runs_so(visit):
    page = visit("#source=en&target=ar&q=the+new+book")
    page.explained()
    first, second = (page.all(".queries .token").nth(place).bounding_box() for place in (0, 1))
    assert first["x"] > second["x"]
    page.tab.locator(".queries .token").first.focus()
    page.tab.keyboard.press("ArrowLeft")
    expect(page.tab.locator(".queries .token").nth(1)).to_be_focused()


def test_what_the_model_was_not_shown_is_put_back(visit):
    page = visit()
    page.write("das alte {name} Haus ist {size} klein. Guten {name} Morgen!")
    expect(page.output).to_have_text("the old {name} house is {size} small. Good {name} morning!")
    page.word("Translation", "house").hover()
    expect(page.lit).to_have_text(["Haus"])
    expect(page.output.locator(".word.active")).to_have_text("house")
    page.output.get_by_text("Good", exact=True).click()
    page.word("Translation", "Good").hover()
    expect(page.lit).to_have_text(["Guten", "Morgen!"])


def test_how_sure_the_model_is_in_plain_words(visit):
    """Of five words, as `confidence` in JSON: (3 · 0.95 + 2 · 0.3) / 5."""
    page = visit()
    page.write()
    expect(page.view.get_by_text("confidence 69%", exact=True)).to_be_visible()
    expect(page.view.get_by_text("the model’s own estimate")).to_be_visible()


def test_what_is_true_of_most_words_is_told_once(visit):
    page = visit()
    page.write("Wort Ding Sache das Stein")
    told = page.view.locator(".warnings")
    expect(told).to_have_text("Most of this is not translated: the words are unknown to the model.")
    expect(page.view.locator(".flags")).to_be_hidden()
    page.write("das Wort ist klein")
    expect(told).to_be_empty()
    expect(page.view.locator(".flags")).to_be_visible()


def test_files_stand_in_one_menu(visit):
    page = visit()
    page.write()
    page.explained()
    entry = page.button("Numbers (CSV)")
    expect(entry).to_be_hidden()
    page.view.locator(".menu summary").press("Enter")
    expect(entry).to_be_visible()
    page.tab.keyboard.press("Escape")
    expect(entry).to_be_hidden()


def test_no_card_is_longer_than_what_it_holds(visit):
    text = "+".join(["das+alte+Haus+ist+klein"] * 4)
    page = visit(f"#source=de&target=en&q={text}", viewport={"width": 1280, "height": 800})
    page.explained()
    card, last = page.view.locator(".candidates-card"), page.view.locator(".candidates li").last
    boxes = [each.bounding_box() for each in (card, last)]
    assert boxes[0]["y"] + boxes[0]["height"] - boxes[1]["y"] - boxes[1]["height"] < 30


@pytest.mark.parametrize("width", [1280, 320])
def test_tiles_fill_their_card(visit, width):
    page = visit(viewport={"width": width, "height": 800})
    page.write()
    page.explained()
    boxes = [page.view.locator(".tile").nth(at).bounding_box() for at in range(3)]
    assert all(box["width"] >= 70 for box in boxes)
    assert [box["y"] for box in boxes] == [boxes[0]["y"]] * (3 if width == 320 else 2) + [boxes[2]["y"]] * (
        width == 1280
    )


def test_the_two_columns_of_a_wide_page_have_no_holes(visit):
    """Each card begins where the one above it in its column ends."""
    page = visit(viewport={"width": 1280, "height": 800})
    page.write()
    page.explained()
    for row, counts in ((".view > .row", (1, 1)), (".why > .row", (2, 1))):
        for column, count in zip((".column", ".beside"), counts, strict=True):
            cards = page.view.locator(f"{row} > {column} > .card")
            boxes = [box for at in range(cards.count()) if (box := cards.nth(at).bounding_box()) is not None]
            gaps = [after["y"] - before["y"] - before["height"] for before, after in itertools.pairwise(boxes)]
            assert len(boxes) >= count and all(0 < gap < 30 for gap in gaps)
