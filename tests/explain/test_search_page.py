"""Steps of a search on a page: the answer piece by piece, and what else was held, opened one by one."""

from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe

from regard.results import SearchNode, SearchTree, TextPrediction

pytestmark = pytest.mark.slow

HOSTILE = "<img/src=x/onerror=alert(1)>"
NODES = [
    SearchNode(-1, "▁the", -0.51, -0.51, "kept"),  # 0: the answer begins
    SearchNode(-1, "▁a", -1.2, -1.2, "kept"),  # 1: goes on twice, then is dropped
    SearchNode(-1, HOSTILE, -3.0, -3.0, "dropped"),  # 2
    SearchNode(0, "▁old", -0.22, -0.73, "kept"),  # 3
    SearchNode(1, "▁old", -0.9, -2.1, "kept"),  # 4
    SearchNode(3, "▁house", -0.1, -0.83, "kept"),  # 5
    SearchNode(4, "▁man", -1.9, -4.0, "kept"),  # 6
    SearchNode(4, "▁hut", -2.0, -4.1, "dropped"),  # 7
    SearchNode(5, "</s>", -0.05, -0.22, "ended"),  # 8: the answer
    SearchNode(6, "</s>", -3.0, -7.0, "dropped"),  # 9
]


@pytest.fixture
def searched(house) -> TextPrediction:
    values = {name: getattr(house, name) for name in ("source", "text", "score", "log_probs", "explanation")}
    return TextPrediction(**values, search=SearchTree(NODES, 8))


def lines(seen, selector: str) -> list[str]:
    return [" ".join(text.split()) for text in seen.texts(selector)]


def test_the_answer_stands_step_by_step(visit, searched):
    seen = visit(searched)
    words = ["the 60% · −0.51 2 others", "old 80% · −0.73", "house 90% · −0.83", "</s> 95% · = −0.22"]
    assert lines(seen, ".search > .steps > li") == words
    assert seen.all(".search .branches").count() == 0  # nothing is drawn that is not open


def test_a_step_opens_to_what_else_was_held(visit, searched):
    seen = visit(searched)
    seen.all(".search summary").first.click()
    branches = ".search > .steps > li > details > .branches > li"
    seen.all(branches).first.wait_for()
    assert lines(seen, branches) == ["a 30% · −1.20 kept old man", f"{HOSTILE} 5% · −3.00 pruned"]
    assert seen.all("img").count() == 0
    seen.all(f"{branches} summary").first.press("Enter")
    inner = f"{branches} > details > .steps > li"
    seen.all(inner).first.wait_for()
    assert lines(seen, inner) == ["old 41% · −2.10", "man 15% · −4.00 1 other", "not extended 1 other"]


def test_a_page_without_steps_has_no_card(visit, house):
    assert visit(house).all(".search-card").is_hidden()


def test_a_tree_that_was_cut_says_so(visit, searched):
    seen = visit(replace(searched, search=SearchTree(NODES[:3], None, whole=False)))
    assert "the tree is too large" in seen.all(".search-card").inner_text()
    assert lines(seen, ".search > .steps > li") == ["the 60% · −0.51 2 others"]


@pytest.mark.parametrize(
    "settings", [{}, {"color_scheme": "dark"}, {"locale": "zh-CN"}, {"viewport": {"width": 320, "height": 800}}]
)
def test_axe_finds_nothing_serious(visit, searched, settings):
    seen = visit(searched, **settings)
    seen.all(".search summary").first.click()
    seen.all(".search .branches summary").first.click()
    seen.all(".search .branches .steps").first.wait_for()
    found = Axe().run(seen.tab).response["violations"]
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
    assert seen.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
