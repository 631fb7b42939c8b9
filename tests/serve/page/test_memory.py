"""The translation memory on the page: badges, what differs, and buttons that use and store."""

from types import SimpleNamespace

import pytest
from known_engine import listening_server, pairs
from playwright.sync_api import expect

from regard.memory import TranslationMemory, TranslationUnit
from regard.serve.settings import Settings

pytestmark = pytest.mark.slow

SIMILAR = "#source=en&target=de&q=Good+morning,+red+World!"


@pytest.fixture
def place(tmp_path):
    memory = TranslationMemory(tmp_path / "m.memory", ("en", "de"))
    memory.add([TranslationUnit("Good morning, old World!", "Guten Morgen, alte Welt!", author="Ann")])
    return memory.path


@pytest.fixture
def server(place):
    """In place of the one out of a dictionary."""
    with listening_server(pairs("en-de", "de-en"), Settings(memories=(place,))) as (address, *_):
        yield SimpleNamespace(address=address)


def test_a_similar_segment_is_marked_used_and_confirmed(visit, place):
    page = visit(SIMILAR)
    segments = page.tab.get_by_role("list", name="Similar segments of the translation memory")
    expect(segments).to_contain_text("memory: 75 %")
    assert (segments.locator("del").inner_text(), segments.locator("ins").inner_text()) == ("old", "red")
    page.button("Use this: Guten Morgen, alte Welt!").press("Enter")
    expect(page.button("Confirm")).to_be_focused()
    expect(page.output).to_have_text("Guten Morgen, alte Welt!")
    page.button("Confirm").press("Enter")
    expect(page.tab.get_by_text("The translation is in the memory.")).to_be_visible()
    expect(segments).to_contain_text("memory: 100 %")
    expect(page.output).to_have_text("Guten Morgen, alte Welt!")
    assert TranslationMemory(place).search("Good morning, red World!")[0].percent == 100


def test_a_better_translation_is_the_next_answer(visit):
    page = visit(SIMILAR)
    page.button("Improve …").click()
    page.tab.get_by_label("Your translation").fill("Moin!")
    page.button("Send").click()
    expect(page.output).to_have_text("Moin!")


def test_no_buttons_without_a_memory_of_the_pair(visit):
    page = visit("#source=de&target=en&q=Hallo")
    expect(page.button("Copy")).to_be_visible()
    expect(page.button("Confirm")).to_be_hidden()
    expect(page.button("Improve …")).to_be_hidden()


@pytest.mark.parametrize(
    "look", [{}, {"color_scheme": "dark"}, {"locale": "zh-CN"}, {"viewport": {"width": 320, "height": 800}}]
)
def test_axe_finds_nothing_serious(visit, serious, look):
    page = visit(SIMILAR, **look)
    expect(page.tab.locator(".match")).to_be_visible()
    assert serious(page) == []
    width = page.tab.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1]
