"""The report as a page: self-contained, and no name in it is ever markup. The slow tests open it in chromium."""

import math
import re
import shutil
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.explain.frame import static
from regard.reports.compare.page import Line, Point, chart, comparison_page, ticks
from regard.reports.compare.plan import Publication

HOSTILE = "</script><img src=x onerror=alert(1)>{{style}}\"'&amp;\u2028\u202e\ud800|`x`"
ALERT = "</script><img src=x onerror=alert(1)>"
FINITE = st.floats(-1e6, 1e6)


class Read(HTMLParser):
    """Elements with their attributes, and the texts between them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)


def test_hostile_names_add_no_element(compared):
    tame = Read(
        comparison_page(compared({"a": 0.1, "b": 0.6}, publication=Publication("x", "y"), command="x", notes=["y"]))
    )
    publication = Publication(HOSTILE, HOSTILE)
    wild = Read(
        comparison_page(
            compared({HOSTILE: 0.1, "b" + HOSTILE: 0.6}, publication=publication, command=HOSTILE, notes=[HOSTILE])
        )
    )
    assert [tag for tag, _ in wild.elements] == [tag for tag, _ in tame.elements]
    assert [set(attributes) for _, attributes in wild.elements] == [set(one) for _, one in tame.elements]
    assert any("<img src=x onerror=alert(1)>{{style}}" in text for text in wild.texts)


def test_the_page_asks_for_nothing_and_runs_nothing_but_its_own(compared):
    html = comparison_page(compared({"a": 0.1, "b": 0.6}, command="regard compare a.yaml 'b c.yaml' --seeds 2"))
    html.encode("utf-8")
    read = Read(html)
    links = [value for _, one in read.elements for name, value in one.items() if name in ("src", "href", "action")]
    assert len(links) == 1 and links[0].startswith("data:image/svg+xml,")
    policy = next(one["content"] for tag, one in read.elements if "http-equiv" in one and tag == "meta")
    nonces = {one.get("nonce") for tag, one in read.elements if tag in ("script", "style")}
    assert len(nonces) == 1
    assert policy.startswith("default-src 'none'")
    assert f"script-src 'nonce-{nonces.pop()}'" in policy
    assert not [one for _, one in read.elements for name in one if name == "style" or name.startswith("on")]
    assert read.texts.count("regard compare a.yaml 'b c.yaml' --seeds 2") == 1
    assert html.count('class="chart"') == 2


@pytest.mark.parametrize("seeds", [1, 2, {"first": 1, "other": 2}])
def test_every_text_has_chinese_words(compared, seeds):
    """Names, metrics and figures have none: a text is a name, a number or a phrase."""
    script = static("chinese.js", "regard.reports.compare")
    patterns = [re.compile(one.replace("\\/", "/")) for one in re.findall(r"\[/(\^.+?\$)/,", script)]
    about = {"notes": ["2 trainings ran at once: their wall times are of a shared machine."], "command": "x"}
    found = compared({"first": 0.1, "other": 0.6}, seeds, publication=Publication("a", "b"), **about)
    read = Read(comparison_page(found))
    texts = [text.strip() for text in [*read.texts, *(one["title"] for _, one in read.elements if "title" in one)]]
    start = texts.index("Result")
    figures = r"[\d.,+—–-]+( ± [\d.]+)?|[\d -]+\([\d,]+\)|p( = [\d.]+)?|95 %"
    names = re.compile(figures + r"|(first|other)(-seed\d)?|(BLEU|exact match)( \(95 %\)|: .*)?|Regard .*|[abx]|")
    shown = [text for text in texts[start:] if not names.fullmatch(text) and "\n" not in text]
    assert len(shown) > 20
    assert [text for text in shown if not any(one.search(text) for one in patterns)] == []


def test_a_surely_poorer_system_is_marked_and_a_like_one_is_not(compared):
    read = Read(comparison_page(compared({"base": 0.3, "poor": 0.9, "same": 0.3, "good": 0.0})))
    rows = [place for place, (tag, one) in enumerate(read.elements) if tag == "tr" and "data-system" in one][:5]
    marks = [
        [one.get("class") for tag, one in read.elements[start:end] if tag == "td"][2] for start, end in pairwise(rows)
    ]
    assert marks == [None, "worse", None, "better"]


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (0, 100, [0, 20, 40, 60, 80, 100]),
        (3, 9, [3, 4, 5, 6, 7, 8, 9]),
        (0.11, 0.19, [0.1, 0.12, 0.14, 0.16, 0.18, 0.2]),
    ],
)
def test_ticks_are_round(low, high, found):
    assert ticks(low, high) == found


@given(FINITE, FINITE)
def test_ticks_hold_what_they_are_for(one, other):
    low, high = sorted((one, other))
    found = ticks(low, high)
    slack = 1e-6 * max(1.0, abs(low), abs(high))
    assert found[0] - slack <= low <= high <= found[-1] + slack
    assert 2 <= len(found) <= 9


def test_lines_go_from_corner_to_corner():
    """0 to 100 across and up: from the lower left of the frame to its upper right."""
    drawn = chart([Line("a", 0, [Point(0, 0, 0, 0, ""), Point(100, 100, 100, 100, "")])], across="x", up="y")
    assert '<polyline points="56.0,296.0 706.0,12.0"/>' in drawn
    assert "band" not in drawn
    assert chart([Line("a", 0, [])], across="x", up="y") == ""


def test_what_is_no_number_is_left_out_of_a_line():
    points = [Point(0, 1, 1, 1, ""), Point(1, math.nan, math.nan, math.nan, ""), Point(2, 3, 2, 4, "")]
    drawn = chart([Line("a", 13, points)], across="x", up="y")
    assert "nan" not in drawn
    assert (drawn.count("<circle"), drawn.count("band")) == (2, 1)
    assert 'class="line c1 dashed"' in drawn


@pytest.fixture
def tab(compared, tmp_path):
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.fail("this test needs a browser: apt-get install chromium")
    path = tmp_path / "report.html"
    path.write_text(comparison_page(compared({"b": 0.1, ALERT: 0.6, "c": 0.3}, command=ALERT)), encoding="utf-8")
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


@pytest.mark.slow
def test_a_click_on_a_column_sorts_by_it(tab):
    assert names(tab) == ["b", ALERT, "c"]
    bleu = tab.locator("table").first.get_by_role("button", name="BLEU")
    bleu.click()
    assert names(tab) == [ALERT, "c", "b"]
    bleu.click()
    assert names(tab) == ["b", "c", ALERT]
    tab.locator("table").first.get_by_role("button", name="p", exact=True).click()
    assert names(tab)[-1] == "b"  # the baseline has no p-value


@pytest.mark.slow
def test_pointing_at_a_system_lights_up_its_lines(tab):
    tab.locator("table").first.locator("tbody tr").nth(1).hover()
    lit = tab.locator(".line.active").evaluate_all("all => all.map(one => one.dataset.system)")
    assert lit == ["1", "1"]  # one in each chart
    tab.locator("h1").hover()
    assert tab.locator(".line.active").count() == 0


@pytest.mark.slow
def test_the_theme_follows_the_system_and_the_button(tab):
    shade = "document.defaultView.getComputedStyle(document.body).backgroundColor"
    dark = tab.evaluate(shade)
    tab.locator("#theme").click()
    assert tab.evaluate(shade) != dark
    tab.locator("#theme").click()
    assert tab.evaluate(shade) == dark


@pytest.mark.slow
def test_the_page_speaks_both_languages(tab):
    language = tab.locator("#language")
    if tab.locator("html").get_attribute("lang") != "zh-CN":
        assert "Every run" in tab.locator("main").inner_text()
        language.click()
    text = tab.locator("main").inner_text()
    assert "全部运行" in text and "Every run" not in text and ALERT in text
    assert tab.locator("h1").inner_text().startswith("对比：b")
    language.click()
    assert "Every run" in tab.locator("main").inner_text()
