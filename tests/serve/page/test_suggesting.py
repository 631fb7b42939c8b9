"""Better translations that readers send, and codes of languages as others spell them."""

import json
from types import SimpleNamespace

import pytest
from known_engine import listening_server, pairs
from playwright.sync_api import expect

from regard.serve.api import suggest
from regard.serve.languages import OUTWARD
from regard.serve.settings import Settings

pytestmark = pytest.mark.slow

HELLO = "#source=en&target=de&q=Hello"


@pytest.fixture
def kept(tmp_path):
    """The file that suggestions go to."""
    return tmp_path / "better.jsonl"


@pytest.fixture
def server(kept):
    """In place of the one out of a dictionary."""
    engines = pairs("en-de", "de-en", "en-zh", "en-zt", "en-pb", "pb-en")
    with listening_server(engines, Settings(suggestions=kept)) as (address, *_):
        yield SimpleNamespace(address=address)


def lines(kept) -> list[dict]:
    told = [json.loads(line) for line in kept.read_text("utf-8").splitlines()]
    return [{name: value for name, value in line.items() if name != "time"} for line in told]


def opened(visit, fragment: str = HELLO, **settings):
    """A page with its dialog."""
    page = visit(fragment, **settings)
    page.button("Improve …").click()
    return page, page.tab.get_by_role("dialog", name="Suggest a better translation")


def test_a_better_translation_is_sent(visit, kept):
    page, dialog = opened(visit)
    expect(dialog).to_contain_text("Hello")
    better, send = dialog.get_by_label("Your translation"), page.button("Send")
    expect(better).to_have_value("Hallo")
    expect(send).to_be_disabled()
    better.fill("  ")
    expect(send).to_be_disabled()
    better.fill("Servus")
    dialog.get_by_label("Your name, if you like").fill("Ann")
    send.click()
    expect(page.tab.get_by_text("Thank you, your translation has been sent.")).to_be_visible()
    expect(dialog).to_be_hidden()
    given = {"answer": "Hallo", "model": "en-de", "version": "abc", "author": "Ann"}
    assert lines(kept) == [{"q": "Hello", "s": "Servus", "source": "en", "target": "de", **given}]
    page.button("Improve …").click()
    expect(dialog.get_by_label("Your name, if you like")).to_have_value("Ann")


def test_by_keyboard_and_in_a_language_that_was_detected(visit, kept):
    page = visit("#source=auto&target=en&q=Hallo")
    page.button("Improve …").press("Enter")
    expect(page.tab.get_by_label("Your translation")).to_be_focused()
    page.tab.keyboard.press("Control+A")
    page.tab.keyboard.type("Hi")
    page.tab.keyboard.press("Control+Enter")
    expect(page.tab.get_by_text("Thank you")).to_be_visible()
    expect(page.button("Improve …")).to_be_focused()
    given = {"answer": "Hello", "model": "de-en", "version": "abc"}
    assert lines(kept) == [{"q": "Hallo", "s": "Hi", "source": "de", "target": "en", **given}]


@pytest.mark.parametrize("way", ["Escape", "Cancel"])
def test_it_can_be_left(visit, kept, way):
    page, dialog = opened(visit)
    page.tab.get_by_label("Your translation").fill("Servus")
    page.tab.keyboard.press(way) if way == "Escape" else dialog.get_by_role("button", name=way).click()
    expect(dialog).to_be_hidden()
    assert not kept.exists()
    page.button("Improve …").click()
    expect(page.tab.get_by_label("Your translation")).to_have_value("Hallo")


def test_a_refusal_is_shown_and_nothing_is_lost(visit, kept, monkeypatch):
    kept.touch()
    monkeypatch.setattr(suggest, "MAX_FILE", 0)
    page, dialog = opened(visit, refused=True)
    page.tab.get_by_label("Your translation").fill("Servus")
    page.button("Send").click()
    expect(dialog.get_by_role("alert")).to_have_text("This server does not accept suggestions now.")
    expect(page.tab.get_by_label("Your translation")).to_have_value("Servus")


@pytest.mark.parametrize("look", [{}, {"color_scheme": "dark"}, {"viewport": {"width": 320, "height": 800}}])
def test_axe_finds_nothing_serious(visit, serious, look):
    page, dialog = opened(visit, **look)
    expect(dialog).to_be_visible()
    assert serious(page) == []
    width = page.tab.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1]


def chosen(page) -> list[str]:
    return [page.tab.locator(place).input_value() for place in ("#source", "#target")]


CODES = [*OUTWARD.items(), ("ZH-HANS", "zh-Hans"), ("zh_hant", "zh-Hant"), ("pt-br", "pt-BR")]


@pytest.mark.parametrize(("code", "own"), CODES)
def test_languages_of_a_link_as_others_spell_them(visit, code, own):
    assert chosen(visit(f"#source=EN&target={code}")) == ["en", own]


def test_languages_that_were_kept_as_others_spell_them(visit):
    page = visit()
    page.tab.evaluate("""() => {
        localStorage.setItem("regard.pair", '["pb", "en"]');
        localStorage.setItem("regard.recent", '["en zh", "en zh-Hans", "xx en"]');
    }""")
    page.tab.reload()
    expect(page.tab.locator("#source")).to_have_value("pt-BR")
    expect(page.tab.locator("#target")).to_have_value("en")
    expect(page.tab.locator("#recent button")).to_have_count(1)
    page.tab.locator("#recent button").click()
    assert chosen(page) == ["en", "zh-Hans"]


def test_a_language_that_is_not_served_is_none(visit):
    assert chosen(visit("#source=xx&target=yy"))[0] == "auto"
