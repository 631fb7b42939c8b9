"""Two models' reasons for the same word, side by side on a page, in Python and on a terminal."""

from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe

from regard.answers.terminal import beside_lines
from regard.explain import page, to_json
from regard.results import AttentionMap, Explanation, TextPrediction, TokenRole, Tokens

HOSTILE = "<img/src=x/onerror=alert(1)>"


def explained(source: list[str], target: list[str], weights: list[list[float]], **more) -> TextPrediction:
    texts = ["".join(tokens).replace("▁", " ").removesuffix("</s>").strip() for tokens in (source, target)]
    found = Explanation.of_text(source, target, [], weights, method="lrp", **more)
    return TextPrediction(*texts, -1.0, [-0.6931472] * len(target), explanation=found)


@pytest.fixture
def two() -> tuple[TextPrediction, TextPrediction]:
    """The same words, cut into other pieces: one model reads `Haus` as two, the other writes `the` as two."""
    first = explained(
        ["▁das", "▁Ha", "us", "</s>"],
        ["▁the", "▁house", "</s>"],
        [[0.9, 0.0, 0.1, 0.0], [0.1, 0.3, 0.4, 0.2], [0.0, 0.0, 0.0, 1.0]],
        sides={"source": [0.75, 0.5, 0.5], "target": [0.25, 0.5, 0.5]},
    )
    second = explained(
        ["▁das", "▁Haus", "</s>"],
        ["▁th", "e", "▁house", "</s>"],
        [[0.6, 0.2, 0.2], [0.8, 0.0, 0.2], [-0.2, 0.8, 0.0], [0.0, 0.0, 1.0]],
    )
    return first, second


def test_lines_of_two_models(two):
    assert beside_lines({"ours": two[0], "theirs": two[1]}) == [
        "the",
        "  ours   ← das 90%, Haus 10%",
        "  theirs ← das 0.7, Haus 0.1",
        "house",
        "  ours   ← Haus 70%, das 10%",
        "  theirs ← Haus 0.8, das −0.2",
    ]
    assert beside_lines({"ours": replace(two[0], explanation=None), "theirs": two[1]}) == []


def test_json_has_the_others_beside_each(two):
    told = to_json([two[0]], model="ours", beside={"theirs": [two[1]]})
    assert (told["model"], list(told["predictions"][0]["beside"])) == ("ours", ["theirs"])
    assert told["predictions"][0]["beside"]["theirs"] == to_json([two[1]])["predictions"][0]
    assert "model" not in to_json([two[0]]) and "beside" not in to_json([two[0]])["predictions"][0]


def table(seen) -> list[list[str]]:
    seen.all(".reasons-card table").wait_for()
    lines = seen.all(".reasons-card tr").all()
    return [[cell.strip() for cell in line.locator("th, td").all_inner_texts()] for line in lines]


@pytest.mark.slow
def test_a_click_sets_two_models_side_by_side(visit, two):
    data = to_json([two[0]], model="ours", beside={HOSTILE: [two[1]]})
    seen = visit(html=page(data))
    seen.all(".queries .token").nth(0).click()
    assert table(seen) == [
        ["Source", "LRP"],
        ["ours", HOSTILE],
        ["das", "90%", "70%"],
        ["Haus", "10%", "10%"],
        ["From the source", "75%", "–"],
        ["From the preceding words", "25%", "–"],
        ["Probability", "50%", "25%"],
    ]
    assert seen.all("img").count() == 0
    seen.all(".queries .token").nth(1).click()
    assert [row[1:] for row in table(seen)[2:4]] == [["10%", "−20%"], ["70%", "80%"]]
    seen.tab.get_by_role("button", name="Pieces").click()
    seen.all(".queries .token").nth(1).click()
    assert [row[0] for row in table(seen)[2:4]] == ["das", "Haus"]  # words, since pieces differ


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings", [{}, {"color_scheme": "dark"}, {"locale": "zh-CN"}, {"viewport": {"width": 320, "height": 800}}]
)
def test_axe_finds_nothing_serious(visit, two, settings):
    seen = visit(html=page(to_json([two[0]], model="ours", beside={"theirs": [two[1]]})), **settings)
    seen.all(".queries .token").nth(1).click()
    table(seen)
    found = Axe().run(seen.tab).response["violations"]
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []


@pytest.mark.slow
def test_a_click_tells_reasons_where_more_than_the_source_was_read(visit, two):
    """As by a second pass, which looks at a draft."""
    found = two[0].explanation
    columns = {**found.columns, "draft": Tokens(["▁a", "</s>"], TokenRole.DERIVED)}
    second = AttentionMap("second", "cross", 0, [[[1.0, 0.0]] * 3], "target", "draft")
    more = {
        "columns": columns,
        "links": [found.link._replace(pairs=[(0, 0)])],
        "maps": [second],
        "reasons": {"saliency": found},
    }
    seen = visit(replace(two[0], explanation=replace(found, **more)))
    seen.all(".queries .token").nth(0).click()
    assert table(seen)[:2] == [["Source", "LRP", "Saliency"], ["das", "90%", "90%"]]
