"""The page in ten seconds: it loads under its policy, translates, explains and can be pointed at."""

from playwright.sync_api import expect


def test_the_page_translates_and_explains(visit):
    page = visit()
    page.write()
    expect(page.output).to_have_text("the old house is small")
    page.explained()
    page.word("Translation", "house").hover()
    expect(page.view.locator(".readout")).to_contain_text("attends to")
    expect(page.lit).to_have_text(["Haus"])
    assert page.view.get_by_role("gridcell").count() == 25
