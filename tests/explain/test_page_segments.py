"""The segments of a translation memory behind a word on a page: a click shows them."""

import pytest

from regard.explain import page, to_json
from regard.results import Explanation, MemoryMatch, SegmentEvidence, TextPrediction, WordEvidence

HOSTILE = "<img/src=x/onerror=alert(1)>"


@pytest.fixture
def data():
    weights = [[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.1, 0.9, 0.0], [0.0, 0.0, 1.0]]
    found = Explanation.of_text(["▁the", "▁dog", "</s>"], ["▁der", "▁Ha", "se", "</s>"], [], weights)
    match = MemoryMatch(80, 7, f"the big dog {HOSTILE}", "der große Hase", "a.tmx", "", "")
    evidence = [WordEvidence("Hase", [SegmentEvidence(match, 0.625)], [1, 2])]
    return to_json([TextPrediction("the dog", "der Hase", -1.0, explanation=found, evidence=evidence)])


def test_words_name_their_pieces_and_segments(data):
    (word,) = data["predictions"][0]["details"]["evidence"]
    assert (word["word"], word["pieces"], [one["percent"] for one in word["segments"]]) == ("Hase", [1, 2], [62.5])


@pytest.mark.slow
def test_a_click_shows_the_segments_of_a_word(visit, data):
    seen = visit(html=page(data))
    seen.all(".queries .token").nth(1).click()
    items = seen.all("ol.taught li:visible")
    items.wait_for()
    assert items.count() == 1 and "62.5 % of its probability · segment 7" in items.inner_text()
    assert "der große Hase" in items.inner_text() and HOSTILE in items.inner_text()
    assert seen.all("img").count() == 0
    seen.all(".queries .token").nth(0).click()
    assert seen.all("ol.taught li:visible").count() == 0
    assert seen.tab.get_by_text("it comes from the model").is_visible()


@pytest.mark.slow
def test_without_a_memory_there_is_no_card(visit, data):
    del data["predictions"][0]["details"]
    seen = visit(html=page(data))
    seen.all(".queries .token").nth(1).click()
    assert not seen.tab.get_by_text("Memory segments behind this word").is_visible()
