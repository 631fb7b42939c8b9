"""For everybody: no serious finding of axe, nothing that scrolls sideways, long sentences at once."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

RIGHT_TO_LEFT = "#source=en&target=ar&q=the+new+book"
LOOKS = {
    "light": ("", {}),
    "dark": ("", {"color_scheme": "dark"}),
    "chinese": ("", {"locale": "zh-CN"}),
    "right to left": (RIGHT_TO_LEFT, {}),
    "from right to left": ("#source=ar&target=en&q=كتاب+جديد", {}),
    "narrow": ("", {"viewport": {"width": 320, "height": 800}}),
    "zoomed": ("", {"viewport": {"width": 640, "height": 400}, "device_scale_factor": 2}),
    "forced colours": ("", {"forced_colors": "active"}),
}


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_serious(visit, serious, look):
    fragment, settings = LOOKS[look]
    page = visit(fragment or "#source=de&target=en&q=das+alte+Haus+ist+klein.+Guten+Wort!", **settings)
    page.tab.locator(".tile").first.wait_for()
    page.view.locator(".map-card summary").click()
    page.view.locator(".queries .token").nth(1).click()
    if not fragment:
        page.tab.locator("#compare").click()
        page.tab.locator(".place:nth-child(2) .tile").first.wait_for()
    page.tab.locator("#help").click()
    found = serious(page)
    page.tab.keyboard.press("Escape")
    assert found + serious(page) == []
    width = page.tab.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1]


def test_an_empty_page_and_a_fault_are_accessible(visit, server, serious):
    page = visit(refused=True)
    assert serious(page) == []
    server.refusals = [(400, {}, "no")]
    page.field.fill("Haus")
    expect(page.tab.get_by_role("alert")).to_be_visible()
    assert serious(page) == []


def test_targets_are_large_enough(visit):
    page = visit()
    page.write()
    page.explained()
    sizes = page.tab.evaluate(
        """[...document.querySelectorAll("button, select, input, summary")].filter((each) => each.checkVisibility())
            .map((each) => each.type === "checkbox" ? each.closest("label") : each)
            .map((each) => [each.outerHTML, each.getBoundingClientRect()])
            .filter(([, box]) => box.width < 24 || box.height < 24)"""
    )
    assert sizes == []


def test_nothing_moves_for_those_who_asked(visit):
    page = visit(reduced_motion="reduce")
    page.write()
    page.explained()
    assert page.word("Translation", "house").evaluate("word => getComputedStyle(word).transitionDuration") == "0s"


def test_words_say_their_language_and_what_goes_on(visit):
    page = visit(RIGHT_TO_LEFT)
    page.explained()
    assert page.output.get_attribute("lang") == "ar"
    assert page.output.get_attribute("aria-live") == "polite"
    assert page.output.get_attribute("aria-busy") == "false"
    assert page.output.evaluate("output => getComputedStyle(output).direction") == "rtl"


def test_the_keyboard_reaches_everything(visit):
    """Tab alone goes through all controls; a group of words or cells is one stop."""
    page = visit()
    page.write()
    page.explained()
    reached = set()
    for _ in range(60):
        page.tab.keyboard.press("Tab")
        reached.add(
            page.tab.evaluate(
                "document.activeElement.ariaLabel || document.activeElement.innerText || document.activeElement.id"
            )
        )
    wanted = {
        "中文",
        "Theme: system",
        "Keyboard shortcuts",
        "Swap the languages",
        "Compare",
        "Clear",
        "Share",
        "Copy",
    }
    wanted |= {"das", "the", "Columns", "Pieces", "Download", "Layer 2, head 3"}
    assert wanted - reached == set()
