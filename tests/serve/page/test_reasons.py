"""Why this word: methods side by side on a click, bars of what came from the source, and grades in one line."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

HOSTILE = "<img/src=x/onerror=alert(1)>"


def grade(deletion: float, chance: float = 0.001) -> dict:
    return {"deletion": {"value": deletion, "against_random": chance}}


@pytest.fixture
def weighing(server):
    """A server whose models were graded: LRP is the best."""
    server.learnt = {
        "methods": ["attention", "lrp", "saliency"],
        "grades": {"lines": 40, "methods": {"attention": grade(0.5), "lrp": grade(0.6), "random": grade(0.2)}},
    }
    return server


def rows(page) -> list[list[str]]:
    """The table of reasons, line by line."""
    page.view.locator(".reasons-card table").wait_for()
    lines = page.view.locator(".reasons-card tr").all()
    return [[cell.strip() for cell in line.locator("th, td").all_inner_texts()] for line in lines]


def asked(server) -> list[list[str]]:
    """The methods of each question that asked for some."""
    return [body["reasons"] for path, body in server.asked if path == "/v1/explain" and "reasons" in body]


def test_a_click_sets_the_methods_side_by_side(visit, weighing):
    page = visit()
    page.write("das Haus")
    page.explained()
    assert asked(weighing) == []
    page.word("Translation", "house").click()
    assert rows(page) == [
        ["Source", "LRP", "Attention", "Saliency"],
        ["das", "0%", "10%", "10%"],
        ["Haus", "60%", "80%", "−10%"],
        ["From the source", "60%", "–", "30%"],
        ["From the preceding words", "40%", "–", "70%"],
    ]
    page.word("Translation", "the").click()
    assert rows(page)[1] == ["das", "60%", "80%", "10%"]
    assert asked(weighing) == [["lrp", "saliency"]]  # once for the sentence
    page.tab.keyboard.press("Escape")
    expect(page.view.locator(".reasons-card")).to_contain_text("Click a translated word")


def test_a_method_colours_the_words(visit, weighing):
    page = visit()
    page.write("das Haus")
    page.explained()
    page.view.get_by_role("combobox", name="Explained by").select_option("lrp")
    page.view.locator(".origin").first.wait_for()
    shares = page.view.locator(".origin").evaluate_all("all => all.map(one => one.style.getPropertyValue('--share'))")
    assert shares == ["60%", "60%"]
    page.word("Translation", "house").hover()
    readout = page.view.locator(".readout")
    expect(readout).to_contain_text("rests on")
    expect(readout).to_contain_text("60% from the source, 40% from the preceding words")
    page.view.get_by_role("combobox", name="Explained by").select_option("")
    expect(readout).to_contain_text("attends to")  # the pointer has not moved
    assert asked(weighing) == [["lrp", "saliency"]]


@pytest.mark.parametrize(
    ("locale", "chance", "line"),
    [
        ("en-GB", 0.001, "LRP is the most faithful of these 2 methods: it predicts best what removing a word does (40"),
        ("en-GB", 0.3, "but not better than chance"),
        ("zh-CN", 0.001, "在这 2 种方法中，LRP最能预测去掉一个词会怎样（在 40 个句子上测得）。"),
    ],
)
def test_grades_in_one_line(visit, weighing, locale, chance, line):
    weighing.learnt["grades"]["methods"]["lrp"] = grade(0.6, chance)
    page = visit(locale=locale)
    page.tab.locator("#text").fill("das Haus")
    expect(page.view.locator(".reasons-card")).to_contain_text(line)


def test_what_was_not_measured_is_said(visit, server):
    server.learnt = {"methods": ["attention", "lrp"], "grades": None}
    page = visit()
    page.write("das Haus")
    expect(page.view.locator(".reasons-card")).to_contain_text("To measure it: regard explain RUN --grade")


def test_a_model_without_methods_has_no_card(visit):
    page = visit()
    page.write()
    page.explained()
    expect(page.view.locator(".reasons-card")).to_be_hidden()
    expect(page.view.get_by_text("Explained by")).to_be_hidden()


def test_a_refusal_is_said(visit, weighing):
    weighing.mute = True
    page = visit(refused=True)
    page.write("das Haus")
    page.explained()
    page.word("Translation", "house").click()
    expect(page.view.locator(".reasons-card")).to_contain_text("The other methods have no result")


def test_hostile_words_and_methods_run_nothing(visit, weighing):
    weighing.learnt["methods"] = ["attention", HOSTILE]
    page = visit()
    page.write(HOSTILE)
    page.explained()
    page.view.locator(".queries .token").first.click()
    table = rows(page)
    assert table[0] == ["Source", "Attention", HOSTILE]
    assert table[1][0] == HOSTILE
    assert page.tab.locator("img").count() == 0


@pytest.mark.parametrize(
    "settings", [{}, {"color_scheme": "dark"}, {"locale": "zh-CN"}, {"viewport": {"width": 320, "height": 800}}]
)
def test_axe_finds_nothing_serious(visit, weighing, serious, settings):
    page = visit("#source=de&target=en&q=das+alte+Haus", **settings)
    page.tab.locator(".tile").first.wait_for()
    page.view.locator(".map-card .controls select").last.select_option("saliency")
    page.view.locator(".queries .token").nth(1).click()
    page.view.locator(".reasons-card table").wait_for()
    assert serious(page) == []
    assert page.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_two_models_stand_side_by_side(visit, weighing):
    """What the other model says of the very same translation, not of its own."""
    page = visit("#source=de&target=en&model=plain&compare=mirror&q=das+Haus")
    page.explained()
    page.word("Translation", "house").click()
    page.view.locator(".reasons-card .by-model").first.wait_for()
    assert rows(page) == [
        ["Source", "LRP", "Attention", "Saliency"],
        ["plain", "mirror"] * 3,
        ["das", "0%", "0%", "10%", "80%", "10%", "10%"],
        ["Haus", "60%", "60%", "80%", "10%", "−10%", "−10%"],
        ["From the source", "60%", "60%", "–", "–", "30%", "30%"],
        ["From the preceding words", "40%", "40%", "–", "–", "70%", "70%"],
        ["Probability", *["30%"] * 6],
    ]
    asked_of = [body["model"] for path, body in weighing.asked if path == "/v1/explain" and "reasons" in body]
    assert asked_of == ["plain", "mirror"]
    page.word("Translation", "the").click()
    assert rows(page)[2][3:5] == ["80%", "10%"]
    assert len([body for path, body in weighing.asked if path == "/v1/explain" and "reasons" in body]) == 2


def test_one_model_alone_has_no_other_beside_it(visit, weighing):
    page = visit("#source=de&target=en&model=plain&q=das+Haus")
    page.explained()
    page.word("Translation", "house").click()
    assert rows(page)[0] == ["Source", "LRP", "Attention", "Saliency"]
    assert page.view.locator(".reasons-card .by-model").count() == 0


def test_steps_of_the_search_are_asked_for_by_a_button(visit, server):
    page = visit()
    page.write("das Haus")
    card = page.view.locator(".search-card")
    assert not any("steps" in body for _, body in server.asked)
    card.get_by_role("button", name="Show the beam").click()
    card.locator(".steps > li").first.wait_for()
    texts = [" ".join(text.split()) for text in card.locator(".steps > li").all_inner_texts()]
    assert texts == ["the 95% · −0.10 1 other", "house 30% · −0.20 1 other", "</s> 95% · = −0.20"]
    card.locator("summary").first.click()
    expect(card.locator(".branches > li").first).to_have_text("notthe1% · −4.00pruned")
    assert [body["steps"] for _, body in server.asked if "steps" in body] == [True]


def test_a_search_without_steps_says_so(visit, server):
    page = visit(refused=True)
    page.write("das Haus")
    card = page.view.locator(".search-card")
    server.mute = True
    card.get_by_role("button", name="Show the beam").click()
    expect(card).to_contain_text("has no steps to show")


@pytest.mark.parametrize(
    "settings", [{}, {"color_scheme": "dark"}, {"locale": "zh-CN"}, {"viewport": {"width": 320, "height": 800}}]
)
def test_axe_finds_nothing_serious_beside_another_model(visit, weighing, serious, settings):
    page = visit("#source=de&target=en&model=plain&compare=mirror&q=das+alte+Haus", **settings)
    page.tab.locator(".tile").first.wait_for()
    page.view.locator(".queries .token").nth(1).click()
    page.view.locator(".reasons-card .by-model").first.wait_for()
    page.view.locator(".search button").click()
    page.view.locator(".search summary").first.click()
    page.view.locator(".branches").first.wait_for()
    assert serious(page) == []
    assert page.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_sentence_is_asked_about_with_its_text(visit, weighing):
    """Its maps, the reasons of methods, and other words: where the translation was made with a document."""
    weighing.details = {"document": "das Haus\tGuten Morgen!"}
    page = visit()
    page.write("das Haus")
    page.explained()
    page.word("Translation", "house").click()
    rows(page)
    page.output.get_by_text("house", exact=True).click()
    page.tab.get_by_role("dialog", name="Instead of “house”").get_by_role("button").first.wait_for()
    about = [body for path, body in weighing.asked if path in ("/v1/explain", "/v1/alternatives")]
    assert len(about) == 3
    assert [body["document"] for body in about] == ["das Haus\tGuten Morgen!"] * 3
