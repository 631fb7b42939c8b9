"""Models whose engine has no explanations: the page asks for none, and none are missed elsewhere."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow


def bodies(server, path):
    return [body for asked, body in server.asked if asked == path]


@pytest.mark.parametrize("source", ["de", "auto"])
def test_translation_is_shown_alone(visit, server, source):
    server.unexplained = {"plain", "mirror", "south", "north", "east", "back"}
    page = visit(f"#source={source}&target=en&q=das+Haus")
    expect(page.output).to_have_text("the house")
    assert {body["explain"] for body in bodies(server, "/v1/translate")} == {False}
    page.output.click()
    expect(page.tab.locator("#fault")).to_be_hidden()
    assert {path for path, _ in server.asked} == {"/v1/translate"}


def test_other_model_beside_it_is_explained_alone(visit, server):
    server.unexplained, server.learnt = {"mirror"}, {"methods": ["lrp", "saliency"]}
    page = visit("#source=de&target=en&model=plain&compare=mirror&q=das+Haus")
    page.explained()
    page.word("Translation", "house").click()
    page.view.locator(".reasons-card table").first.wait_for()
    assert page.view.locator(".reasons-card .by-model").count() == 0
    assert {(body["model"], body["explain"]) for body in bodies(server, "/v1/translate")} == {
        ("plain", True),
        ("mirror", False),
    }
    assert {body["model"] for body in bodies(server, "/v1/explain")} == {"plain"}


def test_label_is_shown_alone(visit, server):
    server.models, server.others, server.unexplained = {}, ["reviews"], {"reviews"}
    page = visit(ready=False)
    page.tab.get_by_role("textbox", name="Text", exact=True).fill("fine weather")
    expect(page.tab.locator(".verdict")).to_have_text("good")
    expect(page.tab.locator("#model-view")).to_be_hidden()
    example = {"text": "fine weather"}
    assert bodies(server, "/v1/predict")[-1] == {"model": "reviews", "examples": [example], "explain": False}
