"""Terms to keep, what became of them, and what a score is made of."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

USES = [
    {"source": "Haus", "targets": ["house"], "place": [4, 8], "target_place": [4, 9], "used": True},
    {"source": "klein", "targets": ["tiny", "little"], "place": [13, 18], "target_place": None, "used": False},
]
TOLD = {"warning": "'klein' is not translated as 'tiny' or 'little'", "terms": USES, "term_cost": 0.254}


def opened(page):
    """The field of the glossary, which is closed at first."""
    page.tab.get_by_text("Glossary", exact=True).locator("visible=true").click()
    return page.tab.get_by_role("textbox", name="Terms of the glossary")


def test_terms_go_along_with_the_text(visit, server):
    """As they are written: the server reads every format of glossaries."""
    page = visit()
    page.write("das Haus")
    assert "glossary" not in server.asked[-1][1]
    field = opened(page)
    with page.tab.expect_request(lambda asked: "glossary" in (asked.post_data or "")) as waited:
        field.fill("Haus = house\n\nklein=tiny|little\nalte\told\nRegard\n")
        page.field.press("Control+Enter")
    assert waited.value.post_data_json["glossary"] == "Haus = house\n\nklein=tiny|little\nalte\told\nRegard"


def test_what_became_of_each_term_is_told(visit, server):
    server.details = TOLD
    page = visit()
    page.write("das Haus ist klein")
    terms = page.tab.get_by_role("list", name="Glossary")
    assert [one.strip() for one in terms.get_by_role("listitem").all_inner_texts()] == [
        "Haus → house",
        "klein → tiny | little (not used)",
    ]
    report = page.tab.locator(".report").first
    expect(report).to_contain_text("'klein' is not translated as 'tiny' or 'little'")
    expect(report).not_to_contain_text("less likely")  # the warning is enough
    page.field.fill("")
    expect(report).to_be_hidden()


@pytest.mark.parametrize(("cost", "much"), [(0.254, "somewhat"), (0.6, "much")])
def test_what_terms_cost_is_told_in_words(visit, server, cost, much):
    server.details = {"terms": USES[:1], "term_cost": cost}
    page = visit()
    page.write("das Haus")
    expect(page.tab.locator(".report").first).to_contain_text(f"{much} less probable")


def test_the_shares_of_a_score_are_told(visit, server):
    server.details = {"shares": {"model": -0.5, "ngram_model": -0.25, "length": 0.125, "repetition 2": -0.0}}
    page = visit()
    page.write("das Haus")
    score = page.tab.locator(".score").first
    score.locator("summary").click()
    assert score.get_by_role("row").all_inner_texts() == [
        "translator\t−0.50",
        "n-gram language model\t−0.25",
        "length\t0.13",
        "repetition 2\t0.00",
    ]
    assert page.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_field_keeps_nobody_out(visit, server, serious):
    server.details = {**TOLD, "shares": {"model": -0.5}}
    page = visit()
    page.write("das Haus")
    opened(page)
    assert serious(page) == []
    page.tab.locator("#language").click()
    expect(page.tab.get_by_text("术语表", exact=True).locator("visible=true")).to_be_visible()


def test_a_glossary_that_cannot_be_used_is_told(visit, server):
    page = visit(refused=True)
    page.write("das Haus")
    server.refusals = [(400, {}, "Invalid request: glossary:1: the target is empty")]
    opened(page).fill("Haus =")
    expect(page.tab.get_by_role("alert")).to_contain_text("glossary:1: the target is empty")
