"""Other words in place of one of the translation, and the way from sentence to sentence."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("how", ["mouse", "keyboard"])
def test_another_word_has_the_rest_translated_anew(visit, server, how):
    page = visit()
    page.write()
    if how == "mouse":
        page.output.get_by_text("house", exact=True).click()
    else:
        page.word("Translation", "house").focus()
        page.tab.keyboard.press("a")
    others = page.tab.get_by_role("dialog", name="Instead of “house”")
    expect(others.get_by_role("button")).to_have_text(["first 30%", "second 30%"])
    expect(others.get_by_role("button", name="first 30%")).to_be_focused()
    page.tab.keyboard.press("ArrowDown")
    page.tab.keyboard.press("Enter")
    expect(page.output).to_have_text("the old second then")
    expect(others).to_be_hidden()
    expect(page.word("Translation", "second")).to_be_visible()
    asked = {"source_text": "das alte Haus ist klein", "target_text": "the old house is small", "word": 2}
    assert ("/v1/alternatives", {**asked, "source": "de", "target": "en", "model": "plain"}) in server.asked
    expect(page.view.locator(".candidates button[aria-pressed=true]")).to_contain_text("the old second then")


def test_only_one_sentence_changes(visit):
    page = visit()
    page.write("das Haus ist klein. Guten Morgen!")
    page.output.get_by_text("Good", exact=True).click()
    expect(page.tab.locator(".looked-at").first).to_have_text("Sentence 2 of 2")
    page.button("first 30%").click()
    expect(page.output).to_have_text("the house is small. first then")


def test_escape_leaves_the_word_as_it_is(visit):
    page = visit()
    page.write()
    page.output.get_by_text("old", exact=True).click()
    others = page.tab.locator(".alternatives").first
    expect(others.get_by_role("button").first).to_be_focused()
    page.tab.keyboard.press("Escape")
    expect(others).to_be_hidden()
    expect(page.output).to_have_text("the old house is small")


def test_beside_placeholders_there_is_nothing_to_choose(visit, server):
    page = visit()
    page.write("das alte {name} Haus")
    page.output.get_by_text("old", exact=True).click()
    page.tab.wait_for_timeout(300)
    assert "/v1/alternatives" not in [path for path, _ in server.asked]


def test_arrows_and_keys_lead_from_sentence_to_sentence(visit):
    page = visit()
    page.write("das Haus ist klein. Guten Morgen!")
    told = page.tab.locator(".looked-at").first
    expect(page.button("Previous sentence")).to_be_disabled()
    page.button("Next sentence").click()
    expect(told).to_have_text("Sentence 2 of 2")
    expect(page.button("Next sentence")).to_be_disabled()
    page.tab.locator("h1").click()
    page.tab.keyboard.press("p")
    expect(told).to_have_text("Sentence 1 of 2")
    page.tab.keyboard.press("n")
    expect(page.word("Translation", "Good")).to_be_visible()
    page.tab.keyboard.press("?")
    expect(page.tab.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Next sentence")


def test_words_of_the_translation_look_as_if_they_could_be_clicked(visit):
    page = visit()
    page.write("das Haus ist klein. Guten Morgen!")
    cursors = page.output.locator(".word").evaluate_all("words => words.map(word => getComputedStyle(word).cursor)")
    assert {*cursors} == {"pointer"}
