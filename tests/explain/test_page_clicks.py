"""A click on a page of 60 words × 60 words × 24 heads draws what changes, and nothing else."""

from collections.abc import Callable
from typing import Any

import pytest

from benchmarks import benchmark

pytestmark = pytest.mark.slow

WATCH = """() => {
    globalThis.drawn = 0;
    const size = (node) => 1 + (node.querySelectorAll?.("*").length ?? 0);
    globalThis.watch ??= new MutationObserver((all) => {
        for (const { addedNodes } of all) for (const node of addedNodes) globalThis.drawn += size(node);
    });
    globalThis.watch.observe(document.body, { childList: true, subtree: true });
}"""
CENTRE = """([row, column]) => {
    const canvas = document.querySelector(".painted-map canvas"), cell = document.querySelector(".heat .cell");
    const [x, y, size] = ["x", "y", "width"].map((name) => Number(cell.getAttribute(name)));
    const step = size + 2 * 0.5, sharp = canvas.width / parseFloat(canvas.parentNode.style.width);
    const at = [x + size / 2 + column * step, y + size / 2 + row * step].map((each) => Math.round(each * sharp));
    const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
    const pen = copy.getContext("2d", { willReadFrequently: true });
    pen.drawImage(canvas, 0, 0);
    return [...pen.getImageData(...at, 1, 1).data].slice(0, 3);
}"""
ACCENT, NOTHING = (67, 56, 202), (241, 243, 249)  # of the light theme: --accent, --cell


@pytest.fixture
def large(visit: Callable[..., Any]) -> Any:
    return visit(benchmark("page_clicks").prediction(60, 24), viewport={"width": 1400, "height": 900})


def drawn(seen: Any, act: Callable[[], Any]) -> int:
    """Elements that an action puts on the page."""
    seen.tab.evaluate(WATCH)
    act()
    seen.tab.wait_for_timeout(50)
    return int(seen.tab.evaluate("globalThis.drawn"))


def test_no_click_draws_the_map_or_the_heads_anew(large):
    assert large.all("*").count() < 1500  # 3,600 cells are painted
    large.tab.get_by_role("combobox", name="Attention").select_option("cross")
    tiles = large.all(".tile")
    assert tiles.count() == 24
    assert drawn(large, tiles.nth(5).click) < 400  # curves
    assert large.all(".tile[aria-pressed=true]").count() == 23
    assert drawn(large, lambda: large.tab.get_by_role("combobox", name="Layer").select_option("2")) < 400
    assert large.all(".tile[aria-pressed=true]").count() == 4
    assert drawn(large, large.all(".queries .token").nth(3).click) < 700  # curves, and a table of 60 words


def test_painted_cells_have_the_colour_of_their_weights(large):
    weights = benchmark("page_clicks").prediction(60, 24).explanation.weights
    strongest = max(range(59), key=lambda row: max(weights[row][:59]))
    column = max(range(59), key=lambda place: weights[strongest][place])
    for row, at in ((strongest, column), (3, 7)):
        weight = round(weights[row][at], 3)
        wanted = [weight * full + (1 - weight) * none for full, none in zip(ACCENT, NOTHING, strict=True)]
        assert large.tab.evaluate(CENTRE, [row, at]) == pytest.approx(wanted, abs=3)


def test_other_weights_are_painted_and_named_anew(large):
    box = large.all(".painted-map")
    before = box.locator("canvas").evaluate("canvas => canvas.toDataURL()")
    name = large.all(".heat .cell").first.get_attribute("aria-label")
    large.tab.get_by_role("combobox", name="Explained by").select_option("saliency")
    assert box.locator("canvas").evaluate("canvas => canvas.toDataURL()") != before
    assert large.all(".heat .cell").first.get_attribute("aria-label") != name


def test_a_theme_paints_its_own_colours(large):
    before = large.tab.evaluate(CENTRE, [3, 7])
    large.all("#theme").click()
    large.all("#theme").click()  # dark
    assert large.tab.evaluate(CENTRE, [3, 7])[0] < 80 < before[0]


def test_a_painted_map_is_walked_through_by_keyboard(large):
    large.all('.heat [tabindex="0"]').focus()
    for key in ("ArrowRight", "ArrowDown"):
        large.tab.keyboard.press(key)
    assert large.all(".heat .cell:focus").get_attribute("aria-label").startswith("“word1” attends to “wort1”")
    assert large.all(".heat .cell").count() < 8
    assert large.all(".heat [role=row]").count() == 2
