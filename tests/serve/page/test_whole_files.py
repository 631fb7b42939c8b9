"""Whole files, by mouse and by keyboard, before the real server with an engine that is known."""

from types import SimpleNamespace

import pytest
from known_engine import listening_server, pairs
from playwright.sync_api import expect

from regard.documents.files import SUFFIXES
from regard.serve.engine.faults import Busy, TooLate
from regard.serve.security import Keys
from regard.serve.settings import Settings

pytestmark = pytest.mark.slow

LETTER = {"name": "letter.txt", "mimeType": "text/plain", "buffer": b"Hello\nWorld\n"}
LIMIT = 3000  # bytes of a file


@pytest.fixture
def settings() -> Settings:
    """Replaced by tests that need others."""
    return Settings(max_file=LIMIT)


@pytest.fixture
def server(settings):
    """In place of the one out of a dictionary."""
    engines = pairs("en-de", "de-en", "en-zh")
    with listening_server(engines, settings) as (address, *_):
        yield SimpleNamespace(address=address.rstrip("/") + settings.url_prefix + "/", engine=engines[0])


@pytest.fixture
def page(visit):
    opened = visit("#source=en&target=de")
    opened.tab.get_by_role("tab", name="File").click()
    return opened


def taken(page, **changes) -> None:
    """A file as if it had been chosen."""
    page.tab.locator("#file").set_input_files({**LETTER, **changes})


def fetched(page, doing) -> tuple[str, bytes]:
    """The name and the content of the file that something brings."""
    with page.tab.expect_download() as waited:
        doing()
    return waited.value.suggested_filename, waited.value.path().read_bytes()


def result(page):
    return page.tab.get_by_role("link", name="Download")


def fault(page):
    return page.tab.get_by_role("alert")


def test_a_file_is_chosen_translated_and_fetched(page):
    with page.tab.expect_file_chooser() as waited:
        page.button("Choose a file").click()
    assert waited.value.element.get_attribute("accept") == ",".join(SUFFIXES)
    waited.value.set_files(LETTER)
    expect(page.tab.get_by_text("letter.txt 12 B")).to_be_visible()
    page.button("Translate the file").click()
    expect(result(page)).to_have_text("Download letter_de.txt")
    expect(page.tab.get_by_role("status").filter(has_text="Translated in")).to_be_visible()
    assert fetched(page, result(page).click) == ("letter_de.txt", b"Hallo\nWelt\n")
    page.button("Remove").click()
    expect(page.button("Choose a file")).to_be_focused()
    expect(result(page)).to_be_hidden()


def test_a_file_keeps_the_terms_of_both_tabs(page):
    """What is written in one is there in the other; other terms make what was translated old."""
    page.tab.get_by_text("Glossary", exact=True).locator("visible=true").click()
    terms = page.tab.get_by_role("textbox", name="Terms of the glossary")
    terms.fill("World = Erde\nHello = Hallo")
    taken(page)
    page.button("Translate the file").click()
    expect(page.tab.get_by_role("list", name="Glossary").get_by_role("listitem")).to_have_text(
        ["Hello → Hallo (used 1 of 1 times)", "World → Erde (used 0 of 1 times)"]
    )
    expect(page.tab.get_by_text("World: lacks World")).to_be_visible()
    assert fetched(page, result(page).click) == ("letter_de.txt", b"Hallo\nWelt\n")
    assert page.tab.locator("#terms").input_value() == "World = Erde\nHello = Hallo"
    terms.fill("Hello = Hallo")
    expect(result(page)).to_be_hidden()
    expect(page.tab.get_by_role("list", name="Glossary")).to_be_hidden()


def test_terms_that_cannot_be_kept_are_told(visit):
    page = visit("#source=en&target=de", refused=True)
    page.tab.get_by_role("tab", name="File").click()
    page.tab.locator("#file-terms").evaluate("field => { field.value = 'Hello =' }")
    taken(page)
    page.button("Translate the file").click()
    expect(fault(page)).to_contain_text("glossary:1: the target is empty")


def test_all_of_it_by_keyboard(visit):
    page = visit("#source=en&target=de")
    keys = page.tab.keyboard
    page.tab.on("filechooser", lambda _: None)  # or the driver looks for one only after the key
    page.tab.get_by_role("tab", name="Text").focus()
    keys.press("ArrowRight")
    expect(page.tab.get_by_role("tab", name="File")).to_be_focused()
    expect(page.tab.get_by_role("tabpanel", name="File")).to_be_visible()
    expect(page.field).to_be_hidden()
    page.button("Choose a file").focus()
    with page.tab.expect_file_chooser() as waited:
        keys.press("Enter")
    waited.value.set_files(LETTER)
    keys.press("Tab")
    keys.press("Tab")
    expect(page.button("Translate the file")).to_be_focused()
    keys.press("Enter")
    expect(result(page)).to_be_focused()
    assert fetched(page, lambda: keys.press("Enter")) == ("letter_de.txt", b"Hallo\nWelt\n")
    page.tab.get_by_role("tab", name="File").focus()
    keys.press("Home")
    expect(page.tab.get_by_role("tab", name="Text")).to_be_focused()
    expect(page.field).to_be_visible()


def test_shortcuts_mean_the_file(page):
    taken(page)
    page.tab.keyboard.press("Control+Enter")
    expect(result(page)).to_be_visible()
    page.tab.keyboard.press("Control+Shift+X")
    expect(result(page)).to_be_hidden()
    page.tab.get_by_role("tab", name="File").focus()
    page.tab.keyboard.press("/")
    expect(page.field).to_be_focused()


def dropped(page, *names: str) -> None:
    """What a browser tells when files are dragged over the page and let go."""
    data = page.tab.evaluate_handle(
        """names => {
            const data = new DataTransfer();
            for (const name of names) data.items.add(new File(["Hello"], name));
            return data;
        }""",
        list(names),
    )
    page.tab.dispatch_event("main", "dragover", {"dataTransfer": data})
    page.tab.dispatch_event("main", "drop", {"dataTransfer": data})


def test_a_file_is_dropped_anywhere_on_the_page(visit):
    page = visit("#source=en&target=de")
    dropped(page, "note.txt")
    expect(page.tab.get_by_role("tab", name="File")).to_have_attribute("aria-selected", "true")
    page.button("Translate the file").click()
    assert fetched(page, result(page).click) == ("note_de.txt", b"Hallo")
    dropped(page, "a.txt", "b.txt")
    expect(fault(page)).to_have_text("One file at a time, please.")


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ({"name": "letter.pdf"}, f"Files of this kind cannot be translated; these can: {', '.join(SUFFIXES)}."),
        ({"buffer": b""}, "This file is empty."),
        ({"buffer": b"x" * (LIMIT + 1)}, "This file is too large: the limit of this server is 2.9 KiB."),
    ],
)
def test_what_the_server_would_refuse_is_not_sent(page, server, file, told):
    taken(page, **file)
    expect(fault(page)).to_have_text(told)
    expect(page.button("Translate the file")).to_be_hidden()
    taken(page)
    expect(fault(page)).to_be_hidden()
    assert server.engine.asked == []


def test_a_broken_file_is_told(visit):
    page = visit("#source=en&target=de", refused=True)
    page.tab.get_by_role("tab", name="File").click()
    taken(page, name="letter.docx")
    page.button("Translate the file").click()
    expect(fault(page)).to_have_text("This file is damaged, or its format differs from its name.")
    expect(page.button("Translate the file")).to_be_focused()


def test_a_file_that_is_too_large_only_on_its_way(visit):
    """A server that does not tell its limit, or a proxy with one of its own."""
    page = visit("#source=en&target=de", refused=True)

    def without_limit(route):
        told = route.fetch().json()
        del told["fileSizeLimit"]
        route.fulfill(json=told)

    page.tab.route("**/frontend/settings", without_limit)
    page.tab.reload()
    page.tab.get_by_role("tab", name="File").click()
    taken(page, buffer=b"Hello " * 30_000)
    page.button("Translate the file").click()
    expect(fault(page)).to_have_text("This file is too large for this server.")


def test_a_file_with_too_much_in_it_is_told_apart_from_a_large_one(visit, server):
    """It is no larger than it may be, so the page must not say that it is."""
    page = visit("#source=en&target=de", refused=True)
    page.tab.get_by_role("tab", name="File").click()
    taken(page)
    server.engine.fault = TooLate()
    page.button("Translate the file").click()
    expect(fault(page)).to_have_text("This file has too much text for this server: split it into parts.")


def test_a_busy_server_is_waited_for(visit, server):
    page = visit("#source=en&target=de", refused=True)
    page.tab.get_by_role("tab", name="File").click()
    taken(page)
    server.engine.fault = Busy(1)
    page.button("Translate the file").click()
    expect(page.tab.get_by_text("The server is busy. Trying again in 1 s.")).to_be_visible()
    server.engine.fault = None
    expect(result(page)).to_be_visible()


@pytest.mark.parametrize("told", [{"translatedFileUrl": "javascript:alert(1)"}, {"translatedFileUrl": "//["}, {}, None])
def test_an_answer_that_says_nothing_of_a_file(page, told):
    page.tab.route("**/translate_file", lambda route: route.fulfill(json=told))
    taken(page)
    page.button("Translate the file").click()
    expect(fault(page)).to_have_text("This page cannot read the response of the server.")
    expect(result(page)).to_be_hidden()


def test_it_can_be_cancelled(page, server):
    server.engine.hold = True
    taken(page)
    page.button("Translate the file").press("Enter")
    bar = page.tab.get_by_role("progressbar", name="Progress")
    expect(bar).to_be_visible()
    expect(page.tab.get_by_role("status").filter(has_text="Translating …")).to_be_visible()
    expect(bar).not_to_have_attribute("value", "1")
    expect(page.button("Choose another file")).to_be_disabled()
    expect(page.button("Cancel")).to_be_focused()
    page.tab.keyboard.press("Enter")
    expect(page.button("Translate the file")).to_be_focused()
    expect(bar).to_be_hidden()
    expect(fault(page)).to_be_hidden()
    page.tab.wait_for_timeout(200)
    assert server.engine.cancelled == 1


def test_the_text_is_asked_again_when_its_languages_have_changed(visit):
    page = visit("#source=en&target=de&q=Hello")
    expect(page.output).to_have_text("Hallo")
    page.tab.get_by_role("tab", name="File").click()
    expect(page.tab.locator("#viewers")).to_be_hidden()
    page.tab.get_by_role("combobox", name="Translate to").select_option("zh-Hans")
    taken(page)
    page.button("Translate the file").click()
    expect(result(page)).to_have_text("Download letter_zh-Hans.txt")
    page.tab.get_by_role("tab", name="Text").click()
    expect(page.output).to_have_text("zh:Hello")


def test_a_file_in_another_language_is_not_the_one_that_waits(page, server):
    taken(page)
    page.button("Translate the file").click()
    expect(result(page)).to_have_text("Download letter_de.txt")
    page.tab.get_by_role("combobox", name="Translate to").select_option("zh-Hans")
    expect(result(page)).to_be_hidden()
    expect(page.tab.get_by_text("Translated in")).to_be_hidden()
    server.engine.hold = True
    page.tab.get_by_role("combobox", name="Translate to").select_option("de")
    page.button("Translate the file").press("Enter")
    expect(page.button("Cancel")).to_be_focused()
    page.tab.get_by_role("combobox", name="Translate to").select_option("zh-Hans")
    page.button("Translate the file").press("Enter")
    expect(result(page)).to_have_text("Download letter_zh-Hans.txt")


@pytest.mark.parametrize("settings", [Settings(files_translation=False)])
def test_a_server_without_files_has_no_tab(visit):
    page = visit()
    expect(page.tab.get_by_role("tablist")).to_have_count(0)
    dropped(page, "note.txt")
    expect(page.field).to_be_visible()
    expect(page.tab.get_by_role("tabpanel")).to_have_count(0)


@pytest.mark.parametrize("settings", [Settings(keys=Keys(["secret"]))])
def test_a_key_goes_with_the_file(visit):
    page = visit("#source=en&target=de", refused=True)
    page.tab.get_by_role("tab", name="File").click()
    taken(page)
    page.button("Translate the file").click()
    expect(fault(page)).to_contain_text("This server needs an API key.")
    page.give_key("secret")
    page.button("Translate the file").click()
    assert fetched(page, result(page).click)[1] == b"Hallo\nWelt\n"


@pytest.mark.parametrize("settings", [Settings(url_prefix="/tools/regard")])
def test_below_a_prefix(page):
    taken(page)
    page.button("Translate the file").click()
    assert fetched(page, result(page).click)[1] == b"Hallo\nWelt\n"


@pytest.mark.parametrize("name", ["<img src=x onerror=alert(1)>.txt", "\u202e给朋友 'a' \"b\" %2f#?.txt"])
def test_any_name_is_only_a_name(page, name):
    taken(page, name=name)
    assert page.tab.locator("#file-name").evaluate("each => each.textContent") == name
    page.button("Translate the file").click()
    kept, content = fetched(page, result(page).click)
    assert (kept.endswith("_de.txt"), set(kept) & set("<>/%#?'\" ")) == (True, set())
    assert content == b"Hallo\nWelt\n"


LOOKS = {
    "light": {}, "dark": {"color_scheme": "dark"}, "chinese": {"locale": "zh-CN"},
    "narrow": {"viewport": {"width": 320, "height": 800}}, "forced colours": {"forced_colors": "active"},
    "right to left": {},
}  # fmt: skip


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_serious(visit, serious, look):
    page = visit("#source=en&target=de", **LOOKS[look])
    page.tab.evaluate(f"document.documentElement.dir = '{'rtl' if look == 'right to left' else 'ltr'}'")
    page.tab.locator("#tab-file").click()
    assert serious(page) == []
    taken(page, name="a letter with a long name " + "x" * 60 + ".txt")
    page.tab.locator("#translate-file").click()
    page.tab.locator("#result").wait_for()
    assert serious(page) == []
    taken(page, name="letter.pdf")
    page.tab.locator("#file-fault").wait_for()
    assert serious(page) == []
    width = page.tab.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1]
