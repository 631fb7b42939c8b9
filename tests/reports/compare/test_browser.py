"""The report in a real browser, opened from disk: Debian's chromium (apt-get install chromium)."""

import shutil

import pytest

from regard.reports.compare.page import page

pytestmark = pytest.mark.slow

HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture
def tab(compared, tmp_path):
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.fail("this test needs a browser: apt-get install chromium")
    path = tmp_path / "report.html"
    path.write_text(page(compared({"b": 0.1, HOSTILE: 0.6, "c": 0.3}, command=HOSTILE)), encoding="utf-8")
    faults: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        opened = browser.new_page(color_scheme="dark")
        opened.on("console", lambda said: faults.append(said.text))
        opened.on("pageerror", lambda error: faults.append(str(error)))
        opened.on("dialog", lambda dialog: (faults.append(dialog.message), dialog.dismiss()))
        opened.on(
            "request", lambda asked: None if asked.url.startswith(("file:", "data:")) else faults.append(asked.url)
        )
        opened.goto(path.as_uri())
        yield opened
        browser.close()
    assert faults == []


def names(tab) -> list[str]:
    return tab.locator("table").first.locator("tbody td:first-child").all_inner_texts()


def test_a_click_on_a_column_sorts_by_it(tab):
    assert names(tab) == ["b", HOSTILE, "c"]
    bleu = tab.locator("table").first.get_by_role("button", name="BLEU")
    bleu.click()
    assert names(tab) == [HOSTILE, "c", "b"]
    bleu.click()
    assert names(tab) == ["b", "c", HOSTILE]
    tab.locator("table").first.get_by_role("button", name="p", exact=True).click()
    assert names(tab)[-1] == "b"  # the baseline has no p-value


def test_pointing_at_a_system_lights_up_its_lines(tab):
    tab.locator("table").first.locator("tbody tr").nth(1).hover()
    lit = tab.locator(".line.active").evaluate_all("all => all.map(one => one.dataset.system)")
    assert lit == ["1", "1"]  # one in each chart
    tab.locator("h1").hover()
    assert tab.locator(".line.active").count() == 0


def test_the_theme_follows_the_system_and_the_button(tab):
    shade = "document.defaultView.getComputedStyle(document.body).backgroundColor"
    dark = tab.evaluate(shade)
    tab.locator("#theme").click()
    assert tab.evaluate(shade) != dark
    tab.locator("#theme").click()
    assert tab.evaluate(shade) == dark
