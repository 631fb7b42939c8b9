"""What explains a translation beyond its words stands behind "Why?", closed until somebody opens it."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow


def disclosure(page):
    return page.view.locator("details.why > summary")


def test_the_page_begins_with_the_translation_alone(visit, server):
    page = visit(closed=True)
    page.write()
    expect(page.view.get_by_role("heading", name="Choose a translation")).to_be_visible()
    for name in ("Attention map", "Every layer and head", "Search steps"):
        expect(page.view.get_by_text(name, exact=True)).to_be_hidden()
    expect(disclosure(page)).to_be_visible()
    page.word("Translation", "house").click()
    page.tab.wait_for_timeout(300)
    assert not any("reasons" in body for _, body in server.asked)


def test_why_opens_by_keyboard_and_stays_as_it_was_left(visit):
    page = visit("#source=de&target=en&q=das+alte+Haus", closed=True)
    disclosure(page).press("Enter")
    page.explained()
    room, drawn = page.view.locator(".heat, .heat svg").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().width)"
    )
    assert 100 < drawn <= room
    page.tab.reload()
    page.explained()
    page.tab.locator("#language").click()
    expect(page.view.locator("details.why")).to_have_attribute("open", "")
    disclosure(page).click()
    expect(page.view.locator(".map-card")).to_be_hidden()
    page.tab.reload()
    expect(page.view.locator(".queries .token").first).to_be_visible()
    expect(page.view.locator(".map-card")).to_be_hidden()
