"""Models whose engine has no attention weights, as those of an export: explanations are refused, markup is kept."""

import io

import docx
import pytest
from known_engine import KnownClassifier, KnownEngine, pairs, served

from regard.serve.engine.questions import Predict

ASKED = [{"explain": True}, {"maps": True}, {"explain": True, "maps": True}]
PAIR = {"source": "en", "target": "de"}
HTML = "<p>Hello <b>World</b></p>"
UNALIGNED = "the engine of en-de has no word alignments"


def blind(engine: KnownEngine) -> KnownEngine:
    """The engine without explanations."""
    engine.info |= {"explains": False, "methods": []}
    return engine


def refused(found, asked, name):
    """Assert that an answer says in one line what the engine of a model lacks."""
    problem = f"{asked}: the engine of {name} has no attention weights"
    hint = "/v1/models lists models that have them with explains: true"
    assert (found.status_code, found.json()) == (400, {"error": f"Invalid request: {problem}; {hint}"})


@pytest.mark.parametrize("wanted", [*ASKED, {"explain": True, "format": "html"}])
@pytest.mark.parametrize("named", [{"source": "en"}, {"source": "auto"}, {"model": "en-de"}])
def test_translations_are_not_explained(wanted, named):
    engine = blind(KnownEngine("en", "de"))
    with served([engine, *pairs("de-en")]) as client:
        refused(
            client.post("/v1/translate", json={"q": ["Hello", "World"], "target": "de", **named, **wanted}),
            "explain, maps",
            "en-de",
        )
        assert engine.asked == []
        question = {"q": "Hallo", "source": "de", "target": "en", **wanted}
        [sentence] = client.post("/v1/translate", json=question).json()["texts"][0]["sentences"]
        assert sentence["explanation"] is not None


@pytest.mark.parametrize("wanted", ASKED)
def test_predictions_are_not_explained(wanted):
    engine = blind(KnownClassifier())
    with served([engine]) as client:
        question = {"texts": ["a fine film"]}
        refused(client.post("/v1/predict", json=question | wanted), "explain, maps", "reviews")
        assert engine.asked == []
        assert client.post("/v1/predict", json=question).json()["predictions"][0]["text"] == "good"
        assert engine.asked == [Predict.lines(("a fine film",))]


def test_alternatives_are_refused():
    """Each has the explanation of its words."""
    engine = blind(KnownEngine("en", "de"))
    with served([engine]) as client:
        question = {**PAIR, "source_text": "Hello World", "target_text": "Hallo Welt", "word": 0}
        refused(client.post("/v1/alternatives", json=question), "/v1/alternatives", "en-de")
        assert engine.asked == []


def test_models_say_which_explain():
    with served([blind(KnownEngine("en", "de")), *pairs("de-en")]) as client:
        found = client.get("/v1/models").json()["models"]
    assert {model["name"]: model["explains"] for model in found} == {"en-de": False, "de-en": True}


@pytest.mark.parametrize("path", ["/translate", "/v1/translate"])
def test_markup_of_a_text_is_kept(path):
    with served([blind(KnownEngine("en", "de"))]) as client:
        found = client.post(path, json={"q": HTML, "format": "html", **PAIR}).json()
    assert found.get("texts", [found])[0]["translatedText"] == "<p>de:Hello <b>de:World</b></p>"


def file_of(client, name, data):
    """The translation of a file, and the warnings."""
    answer = client.post("/translate_file", files={"file": (name, data)}, data=PAIR).json()
    return client.get(answer["translatedFileUrl"]).content, answer.get("warnings", [])


@pytest.mark.parametrize("explains", [True, False])
def test_html_file_warns_once_of_formatting(explains):
    engine = KnownEngine("en", "de")
    with served([engine if explains else blind(engine)]) as client:
        data, warnings = file_of(client, "page.html", (HTML * 3).encode())
        assert data.decode() == "<p>de:Hello <b>de:World</b></p>" * 3
        assert [UNALIGNED in one for one in warnings] == [True] * (not explains)
        assert file_of(client, "letter.txt", b"Hello\nWorld\n") == (b"Hallo\nWelt\n", [])


def test_docx_file_is_translated():
    written, document = io.BytesIO(), docx.Document()
    paragraph = document.add_paragraph("Hello ")
    paragraph.add_run("World").bold = True
    document.save(written)
    with served([blind(KnownEngine("en", "de"))]) as client:
        data, warnings = file_of(client, "letter.docx", written.getvalue())
    [found] = docx.Document(io.BytesIO(data)).paragraphs
    assert found.text == "de:Hello de:World"
    assert [run.text for run in found.runs if run.bold] == ["de:World"]
    assert len(warnings) == 1 and UNALIGNED in warnings[0]
