"""What a click on the page costs, with 60 words × 60 words × 24 heads, in a real browser.

    pip install playwright, with a chromium on the machine
    python benchmarks/page_clicks.py [--words 60] [--heads 24] [--rounds 40]

For each kind of click: the processor time of the page's main thread from the click until the second frame after it,
so that drawing is in it (Chromium's own count by the thread's clock, which other programs do not change), and the time
on the wall. Medians; what the same wait costs without a click is taken off the processor time.
"""

import os
import random
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright
from program import head, options, row

from regard.explain import page, to_json
from regard.results import AttentionMap, Explanation, Prediction, TextPrediction

LAYERS = 6
METHODS = ("lrp", "integrated_gradients", "saliency")
NAMES = ("chromium", "chromium-browser", "google-chrome")
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
CLICK = "(selector) => document.querySelector(selector).click()"
POINT = """(at) => {
    const box = document.querySelector(".heat > *"), frame = box.getBoundingClientRect();
    const place = { clientX: frame.left + at, clientY: frame.top + at, bubbles: true };
    box.dispatchEvent(new PointerEvent("pointermove", place));
    box.dispatchEvent(new MouseEvent("click", place));
}"""
CHOOSE = """([name, at]) => {
    const label = [...document.querySelectorAll("label")].find((each) => each.textContent.startsWith(name));
    const select = label.querySelector("select");
    select.selectedIndex = at % select.options.length;
    select.onchange();
}"""
SLIDE = "(value) => { const box = document.querySelector('[type=range]'); box.value = value; box.oninput(); }"


def drawn(rows: int, columns: int, draw: random.Random) -> list[list[float]]:
    """Rows that sum to one, as attention has them: a few large weights, many small ones."""
    found = [[draw.random() ** 8 for _ in range(columns)] for _ in range(rows)]
    return [[value / sum(row) for value in row] for row in found]


def prediction(words: int, heads: int, seed: int = 1) -> TextPrediction:
    """A translation of so many words, with maps of `heads` heads in six layers of each kind of attention."""
    draw = random.Random(seed)
    read, written = ([*(f"▁{side}{place}" for place in range(words - 1)), "</s>"] for side in ("wort", "word"))
    maps = [
        AttentionMap(f"{kind}.{layer}", kind, layer, [drawn(words, words, draw) for _ in range(heads // LAYERS)])
        for kind in ("cross", "encoder", "decoder")
        for layer in range(LAYERS)
    ]
    links = [(place, place) for place in range(words - 1)]
    share = {"source": [0.6] * words, "target": [0.4] * words}
    reasons = {
        name: Explanation.of_text(read, written, links, drawn(words, words, draw), maps[:1], method=name, sides=share)
        for name in METHODS
    }
    found = Explanation.of_text(read, written, links, drawn(words, words, draw), maps, reasons=reasons)
    text = " ".join(token.strip("▁") for token in written[:-1])
    logs = [-draw.random() for _ in range(words)]
    others: list[Prediction] = [TextPrediction("", f"{text} {number}", -2.0) for number in range(4)]
    source = " ".join(token.strip("▁") for token in read[:-1])
    return TextPrediction(source, text, sum(logs), logs, alternatives=others, explanation=found)


@contextmanager
def opened(words: int, heads: int) -> Iterator[Any]:
    """A tab with the page, as wide as a desktop's."""
    program = os.environ.get("REGARD_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        sys.exit("page_clicks: there is no chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        path = Path(folder) / "page.html"
        path.write_text(page(to_json([prediction(words, heads)]), language="en"), encoding="utf-8")
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page(viewport={"width": 1400, "height": 900})
        tab.goto(path.as_uri())
        tab.wait_for_selector(".tile")
        yield tab
        browser.close()


class Clock:
    """The time of a page's main thread, in milliseconds."""

    def __init__(self, tab: Any) -> None:
        self.tab, self.client = tab, tab.context.new_cdp_session(tab)
        self.client.send("Performance.enable", {"timeDomain": "threadTicks"})

    def now(self) -> float:
        """Of all tasks so far."""
        told = self.client.send("Performance.getMetrics")["metrics"]
        return 1000 * next(one["value"] for one in told if one["name"] == "TaskDuration")

    def spent(self, script: str, given: Any = None) -> tuple[float, float]:
        """Of the processor and on the wall, by a script and the two frames after it."""
        before = self.now()
        wall = self.tab.evaluate(
            f"async (given) => {{ const start = performance.now(); ({script})(given); await ({FRAMES})(); "
            "return performance.now() - start; }",
            given,
        )
        return self.now() - before, wall


def measured(tab: Any, rounds: int) -> Iterator[tuple[str, float, float]]:
    """Each kind of click with its medians: milliseconds of the processor, and on the wall."""
    clock, numbers = Clock(tab), range(rounds)
    empty = statistics.median(clock.spent("() => {}")[0] for _ in numbers)

    def median(name: str, script: str, given: Callable[[int], Any]) -> tuple[str, float, float]:
        processor, wall = zip(*(clock.spent(script, given(number)) for number in numbers), strict=True)
        return name, statistics.median(processor) - empty, statistics.median(wall)

    yield median("a word", CLICK, lambda number: f".queries .token:nth-child({2 + number % 50})")
    yield median("a cell of the map", POINT, lambda number: 200 + 7 * (number % 40))
    yield median("another attention", CHOOSE, lambda number: ["Attention", number])
    clock.spent(CHOOSE, ["Attention", 1])
    yield median("a head", CLICK, lambda number: f".tiles .layer-row:nth-child({1 + number % LAYERS}) .tile")
    yield median("another layer", CHOOSE, lambda number: ["Layer", number])
    yield median("the slider", SLIDE, lambda number: 20 + 5 * (number % 10))
    clock.spent(SLIDE, 100)
    yield median("another method", CHOOSE, lambda number: ["Explained by", number])
    yield median("words or pieces", CLICK, lambda number: "[aria-label='Show'] button[aria-pressed='false']")


def main() -> None:
    """Print a table."""
    given = options(__doc__, words=60, heads=24, rounds=40).parse_args()
    print(head("a click on", "ms of the processor", "ms on the wall"))
    with opened(given.words, given.heads) as tab:
        for name, processor, wall in measured(tab, given.rounds):
            print(row(name, f"{processor:.1f}", f"{wall:.0f}"), flush=True)


if __name__ == "__main__":
    main()
