"""Sentences of 512 words stay quick: a canvas, and a hover under 100 ms."""

import pytest
from fake_api import explained
from playwright.sync_api import expect

from regard.explain import page as written
from regard.explain import to_json

pytestmark = pytest.mark.slow

COUNT = 512
HOVER = """async (places) => {
    const box = document.querySelector(".canvas-map"), times = [];
    for (const [x, y] of places) {
        const frame = box.getBoundingClientRect(), start = performance.now();
        const at = { clientX: frame.left + x, clientY: frame.top + y };
        box.dispatchEvent(new PointerEvent("pointermove", { ...at, bubbles: true }));
        document.body.offsetHeight;
        times.push(performance.now() - start);
        await new Promise(requestAnimationFrame);
    }
    return times.sort((a, b) => a - b);
}"""


@pytest.fixture
def large(browser, tmp_path, visit):
    from browsing import Visit

    text = " ".join(f"w{place}" for place in range(COUNT))
    prediction = explained(text, text, "plain", maps=False)
    (tmp_path / "large.html").write_text(written(to_json([prediction])), encoding="utf-8")
    opened = Visit(browser, (tmp_path / "large.html").as_uri())
    yield opened
    assert opened.faults == []
    opened.context.close()


def test_a_large_map_follows_the_pointer(large):
    expect(large.tab.locator(".canvas-map")).to_be_visible()
    times = large.tab.evaluate(HOVER, [[60 + 9 * step, 60 + 7 * step] for step in range(60)])
    assert times[int(0.95 * len(times))] < 100  # milliseconds
    expect(large.tab.locator(".readout")).to_contain_text("attends to")


def test_a_large_map_by_keyboard(large):
    large.tab.locator(".canvas-map").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        large.tab.keyboard.press(key)
    expect(large.tab.locator(".readout")).to_have_text("“\u2068w1\u2069” attends to “\u2068w2\u2069”: 0%")
    large.tab.keyboard.press("Control+End")
    expect(large.tab.locator(".readout")).to_have_text("“\u2068w511\u2069” attends to “\u2068w511\u2069”: 80%")


def test_a_large_map_has_a_table_and_a_picture(large):
    large.tab.get_by_text("Table of weights").click()
    rows = large.tab.get_by_role("table").get_by_role("row")
    expect(rows).to_have_count(1 + COUNT)
    expect(rows.nth(8)).to_contain_text("w7w7 80%")
    assert large.saved("Plot (PNG)").startswith(b"\x89PNG")


def test_memory_is_given_back(visit):
    """Two hundred translations, one after the other, leave no old page behind."""
    page = visit()
    page.write()
    count = "document.querySelectorAll('*').length"
    client = page.context.new_cdp_session(page.tab)
    sizes = []
    for step in range(200):
        page.field.fill(f"das Haus {step}")
        page.tab.keyboard.press("Control+Enter")
        expect(page.output).to_have_text(f"the house {step}")
        if step in (99, 199):
            page.tab.wait_for_load_state("networkidle")
            page.explained()
            client.send("HeapProfiler.collectGarbage")
            sizes.append((page.tab.evaluate(count), client.send("Runtime.getHeapUsage")["usedSize"]))
    assert sizes[1][0] == sizes[0][0]
    assert sizes[1][1] < 1.2 * sizes[0][1]
