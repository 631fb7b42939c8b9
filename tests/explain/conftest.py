"""Predictions made by hand, as a trained model might answer, and a real browser to open their pages in."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from browsing import Visit, chromium

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
        explanation=Explanation.of_text(
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
    with chromium() as opened:
        yield opened


@pytest.fixture
def visit(browser, tmp_path) -> Iterator[Any]:
    """Opens a page from disk; at the end none of them may have done what it should not."""
    visits: list[Visit] = []

    def open_page(*predictions: Prediction, html: str | None = None, **settings: Any) -> Visit:
        path = tmp_path / f"page{len(visits)}.html"
        path.write_text(html or page(to_json(predictions)), "utf-8")
        visits.append(Visit(browser, path.as_uri(), **settings))
        return visits[-1]

    yield open_page
    assert [fault for each in visits for fault in each.faults] == []
    for each in visits:
        each.context.close()
