"""The training pairs of a word on a page: a click shows them, marked pairs go into a list."""

import json

import pytest
from axe_playwright_python.sync_playwright import Axe

from regard.explain import page, to_json
from regard.results import Explanation, Prediction

HOSTILE = "<img/src=x/onerror=alert(1)>"
PAIR = {"corpus": 0, "line": 1204, "source": f"the 😀 dog {HOSTILE}", "target": "der Vogel"}


@pytest.fixture
def taught():
    weights = [[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.0, 0.0, 1.0]]
    found = Explanation.of_text(["▁the", "▁dog", "</s>"], ["▁der", "▁Vogel", "</s>"], [], weights)
    data = to_json([Prediction("the dog", "der Vogel", -1.0, explanation=found)])
    one = {"pair": 0, "link": 0.98, "context": 0.41, "source": [[6, 9]], "target": [[4, 9]]}
    words = [{"piece": 0, "word": "der", "pairs": []}, {"piece": 1, "word": "Vogel", "pairs": [one]}]
    data["predictions"][0]["taught"] = {
        "corpora": [{"files": ["x/a.en", "x/it's a.de"]}],
        "pairs": [PAIR],
        "words": words,
    }
    return data


@pytest.mark.slow
def test_a_click_shows_the_pairs_of_a_word(visit, taught):
    seen = visit(html=page(taught))
    seen.all(".queries .token").nth(1).click()
    seen.all(".taught li").wait_for()
    assert seen.all(".taught mark").all_inner_texts() == ["dog", "Vogel"]
    assert "a.en:1204 · linked 0.98 · context 0.41" in seen.all(".taught li").inner_text()
    assert seen.all("img").count() == 0
    seen.all(".queries .token").nth(0).click()
    assert seen.all(".taught li").count() == 0


@pytest.mark.slow
def test_marked_pairs_go_into_a_list(visit, taught):
    seen = visit(html=page(taught))
    seen.all(".queries .token").nth(1).click()
    seen.tab.get_by_role("button", name="Correct", exact=True).click()
    seen.all(".taught textarea").fill("der Hund")
    with seen.tab.expect_download() as download:
        seen.tab.get_by_role("button", name="Download the corrections (1)").click()
    listed = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert listed == {
        "files": ["x/a.en", "x/it's a.de"],
        "line": 1204,
        "source": PAIR["source"],
        "target": "der Vogel",
        "mended": "der Hund",
    }
    seen.tab.get_by_role("button", name="Drop").click()
    assert seen.all(".taught li.dropped").count() == 1
    assert seen.all(".corrections code").inner_text().startswith("regard data mend x/a.en 'x/it'\"'\"'s a.de' --list ")
    seen.tab.get_by_role("button", name="Drop").click()
    assert seen.all(".corrections button").count() == 0


@pytest.mark.slow
def test_pairs_of_several_corpora_have_a_command_each(visit, taught):
    told = taught["predictions"][0]["taught"]
    told["corpora"].append({"files": ["x/b.en", "x/b.de"]})
    told["pairs"] += [{**PAIR, "corpus": 1, "line": 7}, {**PAIR, "line": 9}]
    (one,) = told["words"][1]["pairs"]
    told["words"][1]["pairs"] = [{**one, "pair": pair} for pair in range(3)]
    seen = visit(html=page(taught))
    seen.all(".queries .token").nth(1).click()
    seen.all(".taught li").nth(2).wait_for()
    for place in range(3):
        seen.tab.get_by_role("button", name="Drop").nth(place).click()
    commands = [command.partition(" --list")[0] for command in seen.all(".corrections code").all_inner_texts()]
    assert commands == ["regard data mend x/a.en 'x/it'\"'\"'s a.de'", "regard data mend x/b.en x/b.de"]


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"color_scheme": "dark"}, {"locale": "zh-CN"}], ids=str)
def test_axe_finds_nothing_serious(visit, taught, settings):
    seen = visit(html=page(taught), **settings)
    seen.all(".queries .token").nth(1).click()
    seen.all(".taught li").wait_for()
    found = Axe().run(seen.tab).response["violations"]
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
