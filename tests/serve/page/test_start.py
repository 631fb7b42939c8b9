"""What a first visitor sees: what the model knows, sentences to try, and a word where there is nothing to translate."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

LEARNT = {"pairs": 40000, "bleu": 35.2, "demo": False, "examples": ["das Haus ist klein", "Guten Morgen!"]}


def test_an_empty_page_tells_what_the_model_knows(visit, server):
    server.learnt = LEARNT
    page = visit()
    told = page.tab.locator("#knows")
    expect(told).to_have_text(
        "This model translates German into English. Trained on 40,000 sentence pairs. BLEU on held-out text: 35.2."
    )
    page.button("中文").click()
    expect(told).to_have_text("此模型把德语译成英语。它由 40,000 个句对训练而成。在未参与训练的文本上，BLEU 为 35.2。")


def test_an_example_is_translated_at_a_click(visit, server):
    server.learnt = LEARNT
    page = visit()
    page.button("das Haus ist klein").click()
    expect(page.field).to_have_value("das Haus ist klein")
    expect(page.output).to_have_text("the house is small")
    expect(page.tab.locator("#start")).to_be_hidden()


def test_a_demo_says_so_beside_every_text(visit, server):
    server.learnt = {**LEARNT, "demo": True}
    page = visit()
    page.write()
    expect(page.tab.locator("#knows")).to_contain_text("This is the demo")
    expect(page.button("Guten Morgen!")).to_be_visible()


@pytest.mark.parametrize(("source", "seems"), [("auto", ""), ("de", "the house")])
def test_a_text_in_the_language_of_the_translation_is_told(visit, server, source, seems):
    server.seems = seems
    page = visit()
    page.tab.get_by_role("combobox", name="Translate from").select_option(source)
    page.field.fill("the house")
    told = (
        "This looks like English already. Is the language to translate from right?"
        if seems
        else "This is English already."
    )
    expect(page.tab.locator(".same").first).to_have_text(told)
    page.field.fill("das Haus")
    expect(page.output).to_have_text("the house")
    expect(page.tab.locator(".same").first).to_be_hidden()


def test_with_one_model_there_is_nothing_to_detect_or_compare(visit, server):
    server.models, server.first = {"plain": ("de", "en")}, ("auto", "en")
    page = visit()
    expect(page.tab.get_by_role("combobox", name="Translate from")).to_have_value("de")
    expect(page.button("Compare")).to_be_hidden()


def test_a_model_without_examples_has_a_simple_sentence_to_try(visit):
    """As on a server that asks for keys, which tells nobody what its models learnt from."""
    page = visit("#source=de&target=en")
    page.button("Der alte Mann liest ein Buch.").click()
    expect(page.field).to_have_value("Der alte Mann liest ein Buch.")
    expect(page.output).not_to_be_empty()
