"""Predictions made by hand, as a trained model might answer, and a real browser to open their pages in."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from regard.explain import page, to_json
from regard.results import AttentionMap, Explanation, Prediction

LAYERS, HEADS = 3, 4


def peaked(centres: Sequence[int], width: int, *, spread: float = 0.15) -> list[list[float]]:
    """Rows that sum to one, each highest at its centre and falling by `spread` with every step away."""
    rows = [[spread ** abs(place - centre) for place in range(width)] for centre in centres]
    return [[value / sum(row) for value in row] for row in rows]


def attention_map(kind: str, layer: int, centres: Sequence[int], width: int) -> AttentionMap:
    """Heads that differ: each looks one place further on and is less sharp than the one before."""
    heads = [
        peaked([(centre + head) % width for centre in centres], width, spread=0.1 + 0.15 * head + 0.1 * layer)
        for head in range(HEADS)
    ]
    return AttentionMap(f"{kind}.{layer}", kind, layer, heads)


def predicted(
    source: Sequence[str], target: Sequence[str], centres: Sequence[int], chances: Sequence[float] = ()
) -> Prediction:
    """A prediction whose target piece i looks mostly at source piece centres[i]."""
    logs = [-0.05 if not chances else chances[place % len(chances)] for place in range(len(target))]
    maps = [attention_map("cross", layer, centres, len(source)) for layer in range(LAYERS)]
    maps += [attention_map("encoder", layer, range(len(source)), len(source)) for layer in range(LAYERS)]
    maps += [attention_map("decoder", layer, range(len(target)), len(target)) for layer in range(LAYERS)]
    text = "".join(target).replace("▁", " ").removesuffix("</s>").strip()
    return Prediction(
        "".join(source).replace("▁", " ").removesuffix("</s>").strip(),
        text,
        sum(logs),
        logs,
        alternatives=[
            Prediction("", f"{text} also", sum(logs) - 1.5),
            Prediction("", text.upper(), -40.0, finished=False),
        ],
        explanation=Explanation(
            list(source),
            list(target),
            [(centre, place) for place, centre in enumerate(centres)],
            peaked(centres, len(source)),
            maps,
        ),
    )


@pytest.fixture
def house() -> Prediction:
    """Five source words of six pieces → four target words of five pieces, two of them crossed."""
    source = ["▁das", "▁alte", "▁Ha", "us", "▁ist", "▁klein", "</s>"]
    target = ["▁the", "▁old", "▁house", "▁is", "▁sm", "all", "</s>"]
    return predicted(source, target, [0, 1, 2, 4, 5, 5, 6], [-0.05, -0.4, -2.0])


@pytest.fixture
def make() -> Callable[..., Prediction]:
    """`predicted`, for tests that want texts of their own."""
    return predicted


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.fail("this test needs a browser: apt-get install chromium")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


class Visit:
    """One page opened from disk, and all that it did that it should not."""

    def __init__(self, browser: Any, folder: Path, html: str, **settings: Any) -> None:
        path = folder / "page.html"
        path.write_text(html, "utf-8")
        self.faults: list[str] = []
        self.tab = browser.new_context(**{"locale": "en-GB", **settings}).new_page()
        self.tab.on("console", lambda told: self.faults.append(told.text))
        self.tab.on("pageerror", lambda error: self.faults.append(str(error)))
        self.tab.on("request", lambda request: self._asked(request.url))
        self.tab.on("dialog", self._dialog)
        self.tab.goto(path.as_uri())

    def all(self, selector: str) -> Any:
        return self.tab.locator(selector)

    def texts(self, selector: str) -> list[str]:
        return [text.strip() for text in self.all(selector).all_inner_texts()]

    def _asked(self, url: str) -> None:
        if not url.startswith(("file:", "data:", "blob:", "about:")):
            self.faults.append(f"asked for {url}")

    def _dialog(self, dialog: Any) -> None:
        self.faults.append(f"dialog {dialog.message}")
        dialog.dismiss()


@pytest.fixture
def visit(browser, tmp_path) -> Iterator[Any]:
    visits = []

    def open_page(*predictions: Prediction, html: str | None = None, **settings: Any) -> Visit:
        visits.append(Visit(browser, tmp_path, html or page(to_json(predictions)), **settings))
        return visits[-1]

    yield open_page
    assert [fault for each in visits for fault in each.faults] == []
    for each in visits:
        each.tab.context.close()
