"""The tab of models that translate nothing: fields by column, the answer, what it looked at."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow


@pytest.fixture
def alone(server, visit):
    """The page of a server that holds no translator."""

    def open_page(*others: str, fragment: str = "", **settings):
        server.models, server.others = {}, list(others)
        page = visit(fragment, ready=False, **settings)
        expect(page.tab.locator("#columns textarea").first).to_be_visible()
        return page

    return open_page


def field(page, name):
    return page.tab.get_by_role("textbox", name=name, exact=True)


def asked(server):
    return [body for path, body in server.asked if path == "/v1/predict"]


def test_a_server_without_translators_shows_its_models_alone(alone):
    page = alone("reviews", "tagger")
    expect(page.tab.locator("#tabs")).to_be_hidden()
    expect(page.tab.locator("#source")).to_be_hidden()
    expect(page.tab.locator("#fault")).to_be_hidden()
    told = "This model chooses a label. Trained on 1,200 examples. On held-out examples: accuracy 81.5."
    expect(page.tab.locator("#knows")).to_have_text(told)


def test_a_label_comes_as_one_types_with_the_words_that_were_looked_at(alone, server):
    page = alone("reviews")
    field(page, "Text").fill("fine weather")
    expect(page.tab.locator(".verdict")).to_have_text("good")
    assert page.texts(".share-name") == ["good", "bad"] and page.texts(".share-value") == ["75%", "25%"]
    weights = [one.get_attribute("data-weight") for one in page.all(".reply .seen").all()]
    assert weights == ["1", "0"]
    expect(page.tab.locator("#model-view .queries .token")).to_have_text(["good"])
    example = {"text": "fine weather"}
    assert asked(server)[-1] == {"model": "reviews", "examples": [example], "explain": True, "maps": True}
    page.button("Clear").locator("visible=true").click()
    expect(page.tab.locator(".verdict")).to_have_count(0)
    expect(page.tab.locator("#model-view")).to_be_hidden()


def test_a_model_that_looks_at_no_words_says_so(alone):
    def blind(route):
        answer = route.fetch()
        told = answer.json()
        told["predictions"][0]["explanation"]["maps"] = []
        route.fulfill(response=answer, json=told)

    page = alone("reviews")
    page.tab.route("**/v1/predict", blind)
    field(page, "Text").fill("fine weather")
    expect(page.tab.locator(".reply .blind")).to_contain_text("does not read single words")
    expect(page.tab.locator("#model-view")).to_be_hidden()


def test_each_column_has_a_field_and_all_are_needed(alone, server):
    page = alone("pairs")
    field(page, "First text").fill("a dog")
    page.tab.wait_for_timeout(500)
    assert asked(server) == []
    field(page, "Second text").fill("fine")
    expect(page.tab.locator(".verdict")).to_have_text("good")
    assert asked(server)[-1]["examples"] == [{"first": "a dog", "second": "fine"}]
    assert page.texts(".reply .side-title") == ["FIRST TEXT", "SECOND TEXT"]


def test_another_model_is_asked_the_same_text(alone, server):
    page = alone("reviews", "tagger")
    field(page, "Text").fill("a fine day")
    page.tab.get_by_role("combobox", name="Model").locator("visible=true").select_option("tagger")
    expect(page.tab.locator(".tagged")).to_have_text(["a1", "fine4", "day3"])
    assert asked(server)[-1]["model"] == "tagger"


def test_an_example_fills_its_fields(alone):
    page = alone("pairs")
    page.button("a dog · a fine cat").click()
    expect(field(page, "Second text")).to_have_value("a fine cat")
    expect(page.tab.locator(".verdict")).to_have_text("good")
    expect(page.tab.locator("#start")).to_be_hidden()


def test_of_a_long_text_maps_are_not_asked_for(alone, server):
    server.most_maps = 10
    page = alone("reviews", refused=True)
    field(page, "Text").fill("a text of many words")
    expect(page.tab.locator(".verdict")).to_have_text("bad")
    assert [body.get("maps") for body in asked(server)] == [True, None]


def test_a_refusal_takes_the_place_of_the_answer(alone, server):
    page = alone("reviews", refused=True)
    field(page, "Text").fill("fine")
    expect(page.tab.locator(".verdict")).to_have_text("good")
    server.refusals = [(400, {}, "text 1: cannot be read")]
    field(page, "Text").fill("finer")
    expect(page.tab.locator("#model-fault")).to_have_text("The server rejected the request: text 1: cannot be read")
    expect(page.tab.locator(".verdict")).to_have_count(0)


def test_beside_translators_it_is_a_tab(visit, server):
    server.others = ["reviews"]
    page = visit()
    page.tab.get_by_role("tab", name="Other models").click()
    expect(field(page, "Text")).to_be_visible()
    expect(page.tab.locator("#target")).to_be_hidden()
    field(page, "Text").fill("fine")
    expect(page.tab.locator(".verdict")).to_have_text("good")
    page.tab.get_by_role("tab", name="Text").click()
    page.write()
    expect(page.output).to_have_text("the old house is small")
    expect(page.tab.locator(".verdict")).to_be_hidden()
    page.tab.get_by_role("tab", name="Text").press("ArrowLeft")
    expect(page.tab.get_by_role("tab", name="Other models")).to_be_focused()


def test_a_link_opens_a_model_with_its_example(visit, server):
    server.others = ["pairs"]
    page = visit("#model=pairs&q=a+dog%09fine", ready=False)
    expect(page.tab.locator(".verdict")).to_have_text("good")
    expect(field(page, "Second text")).to_have_value("fine")


def test_a_link_to_a_model_that_is_not_here_is_told_and_its_text_kept(alone, server):
    page = alone("reviews", fragment="#model=nope&q=fine+weather")
    expect(page.tab.locator("#model-fault")).to_contain_text("The model in the link is not on this server: nope.")
    expect(field(page, "Text")).to_have_value("fine weather")
    page.tab.wait_for_timeout(500)
    assert asked(server) == []
    field(page, "Text").fill("fine")
    expect(page.tab.locator(".verdict")).to_have_text("good")
    expect(page.tab.locator("#model-fault")).to_be_hidden()


def test_beside_translators_too_a_link_to_no_model_is_told(visit, server):
    server.others = ["reviews"]
    page = visit("#model=nope&q=Hallo")
    expect(page.tab.locator("#fault-text")).to_contain_text("The model in the link is not on this server: nope.")
    expect(page.field).to_have_value("Hallo")
    assert not [path for path, _ in server.asked if path == "/v1/translate"]
    page.write()
    expect(page.tab.locator("#fault")).to_be_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(alone, serious, scheme):
    page = alone("pairs", color_scheme=scheme)
    page.button("a dog · a fine cat").click()
    expect(page.tab.locator("#model-view .queries .token").first).to_be_visible()
    assert serious(page) == []


def test_a_narrow_page_is_no_wider_than_its_screen(alone):
    page = alone("pairs", viewport={"width": 360, "height": 640})
    page.button("a dog · a fine cat").click()
    expect(page.tab.locator(".verdict")).to_have_text("good")
    assert page.tab.evaluate("document.documentElement.scrollWidth") <= 360


def test_all_of_it_is_told_in_chinese(alone):
    page = alone("pairs", locale="zh-CN")
    expect(page.tab.locator("#knows")).to_have_text(
        "此模型为文本选出一个标签。它由 1,200 个样例训练而成。在未参与训练的样例上：准确率 81.5。"
    )
    page.button("a dog · a fine cat").click()
    expect(page.tab.locator(".verdict")).to_have_text("good")
    told = page.all("body").inner_text()
    assert "undefined" not in told and "Text" not in told
