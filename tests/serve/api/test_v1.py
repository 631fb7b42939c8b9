"""Our own questions: what they answer, and how they refuse."""

import json
import math
from threading import current_thread
from urllib.request import Request, urlopen

import pytest
from fake_api import FakeServer
from known_engine import KnownEngine, pairs, served

from regard.explain.page import to_json
from regard.serve.api import models, v1
from regard.serve.engine.questions import Alternatives, GivenText, Predict
from regard.serve.security import Keys
from regard.serve.settings import Settings

NO_PAIR = "French (fr) is not available as a target language from English (en)"
NO_FIELD = "there is no such field"
GIVEN = {"source_text": "Hello World", "target_text": "Hallo Welt", "source": "en", "target": "de"}
FIELDS = (
    "api_key",
    "document",
    "html",
    "memory",
    "method",
    "model",
    "reasons",
    "source",
    "source_text",
    "steps",
    "target",
    "target_text",
)


@pytest.fixture(scope="module")
def client():
    engines = [*pairs("en-de", "de-en", "fr-en"), KnownEngine("en", "de", "other")]
    with served(engines, Settings(char_limit=40, batch_limit=3)) as found:
        yield found


@pytest.fixture
def engine(client):
    found = client.app.service.engines["en-de"]
    found.asked.clear()
    return found


def ask(client, path="/v1/translate", **fields):
    return client.post(path, json=fields)


def test_a_text_and_its_sentence(client, engine):
    found = ask(client, q="Hello", source="en", target="de").json()
    sentence = {
        "before": "", "after": "", "answers": "text", "source": "Hello", "text": "Hallo", "score": -1.5,
        "finished": True, "log_probs": [-0.5, -1], "flags": [], "explanation": None, "alternatives": [],
        "translation": "Hallo", "details": {"confidence": round(math.exp(-0.5), 6), "calibrated": False},
    }  # fmt: skip
    text = {"translatedText": "Hallo", "score": -1.5, "model": "en-de", "version": "abc", "sentences": [sentence]}
    assert found == {"model": "en-de", "source": "en", "target": "de", "texts": [text]}


def test_sentences_in_their_places(client):
    [text] = ask(client, q="  Hello. World!\n\nEnd", source="en", target="de").json()["texts"]
    assert (
        "".join(one["before"] + one["source"] + one["after"] for one in text["sentences"]) == "  Hello. World!\n\nEnd"
    )
    assert text["translatedText"] == "  de:Hello. de:World!\n\nde:End"
    assert text["score"] == -4.5


@pytest.mark.parametrize(
    ("wanted", "question"),
    [
        ({}, Predict.lines(("Hello",))),
        ({"n_best": 3}, Predict.lines(("Hello",), n_best=3)),
        ({"explain": True}, Predict.lines(("Hello",), explain=True)),
        ({"maps": True, "n_best": 2}, Predict.lines(("Hello",), n_best=2, explain=True, maps=True)),
    ],
)
def test_what_the_engine_is_asked_for(client, engine, wanted, question):
    found = ask(client, q="Hello", source="en", target="de", **wanted).json()
    assert engine.asked == [question]
    [sentence] = found["texts"][0]["sentences"]
    assert [other["text"] for other in sentence["alternatives"]] == [f"Hallo {n}" for n in range(1, question.n_best)]
    assert (sentence["explanation"] is not None) is question.explain
    assert bool(sentence["explanation"] and sentence["explanation"]["maps"]) is question.maps


def test_it_is_written_as_the_page_reads_it(client, engine):
    [sentence] = ask(client, q="Hello World", source="en", target="de", maps=True).json()["texts"][0]["sentences"]
    [prediction] = to_json(
        [engine._predict("Hello World", "de:Hello de:World", Predict((), n_best=1, explain=True, maps=True))]
    )["predictions"]
    assert sentence.pop("translation") == "de:Hello de:World"
    assert sentence == {"before": "", "after": "", **json.loads(json.dumps(prediction))}


def test_placeholders_stand_in_the_translation_of_a_sentence(client):
    [text] = ask(client, q="Go to {place} now. World", source="en", target="de", n_best=2).json()["texts"]
    first, second = text["sentences"]
    assert text["translatedText"] == first["before"] + first["translation"] + second["before"] + second["translation"]
    assert "{place}" in first["translation"]
    assert "{place}" in first["alternatives"][0]["translation"]
    assert (second["translation"], second["alternatives"][0]["translation"]) == ("Welt", "Welt 1")


def test_several_languages_have_several_models(client):
    found = ask(client, q=["hallo", "bonjour", "Hello"], target="en").json()
    assert (found["model"], found["source"]) == (None, "auto")
    assert [text["model"] for text in found["texts"]] == ["de-en", "fr-en", None]
    assert [text["detectedLanguage"]["language"] for text in found["texts"]] == ["de", "fr", "en"]
    assert [text["translatedText"] for text in found["texts"]] == ["en:hallo", "en:bonjour", "Hello"]


def test_a_model_by_its_name(client):
    found = ask(client, q="Hello", model="other").json()
    assert (found["model"], found["source"], found["target"]) == ("other", "en", "de")


REFUSALS = {
    "translate": [
        ({"target": "de"}, "Invalid request: missing q parameter"),
        ({"q": "Hello"}, "Invalid request: missing target parameter"),
        ({"q": "Hello", "target": "zz"}, "zz is not supported"),
        ({"q": "Hello", "source": "en", "target": "fr"}, NO_PAIR),
        ({"q": "x" * 41, "target": "de"}, "Invalid request: text 1 has 41 characters, more than this server takes: 40"),
        ({"q": ["x"] * 4, "target": "de"}, "Invalid request: 4 texts are more than this server takes at once: 3"),
        ({"q": "a", "target": "de", "n_bst": 2}, f"Invalid request: n_bst: {NO_FIELD} (did you mean 'n_best'?)"),
        ({"q": "a", "target": "de", "n_best": 11}, "Invalid request: n_best: Input should be less than or equal to 10"),
        ({"q": "a", "target": "de", "n_best": "2"}, "Invalid request: n_best: Input should be a valid integer"),
        ({"q": "a", "target": "de", "explain": 1}, "Invalid request: explain: Input should be a valid boolean"),
        ({"q": 5, "target": "de"}, "Invalid request: q: Input should be a valid string"),
        ({"q": "a", "target": "de", "format": "xml"}, "Invalid request: format: Input should be 'text' or 'html'"),
        ({"q": "a", "target": "de", "model": "othr"}, "othr is not a model of this server (did you mean 'other'?)"),
        ({"q": "a", "target": "en", "model": "other"}, "other translates en into de, not auto into en"),
        ({"q": "a", "source": "fr", "model": "other"}, "other translates en into de, not fr into de"),
    ],
    "explain": [
        ({"source_text": " "}, "Invalid request: missing source_text parameter"),
        ({"target_text": ""}, "Invalid request: missing target_text parameter"),
        ({"source": "auto"}, "Invalid request: missing source parameter"),
        ({"target": ""}, "Invalid request: missing target parameter"),
        ({"target": "en"}, "Invalid request: source and target are one language, so there is nothing to explain"),
        ({"target_text": "x" * 41}, "Invalid request: text 2 has 41 characters, more than this server takes: 40"),
        ({"maps": True}, f"Invalid request: maps: {NO_FIELD} (there is: {', '.join(FIELDS)})"),
    ],
    "alternatives": [
        ({}, "Invalid request: missing source_text parameter"),
        ({"source_text": "Hello"}, "Invalid request: missing target_text parameter"),
        ({"word": -1}, "Invalid request: word: Input should be greater than or equal to 0"),
        ({"count": 11}, "Invalid request: count: Input should be less than or equal to 10"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "change", "error"), [(path, *case) for path, cases in REFUSALS.items() for case in cases]
)
def test_refusals(client, path, change, error):
    found = ask(client, f"/v1/{path}", **(GIVEN if path == "explain" else {}) | change)
    assert (found.status_code, found.json()) == (400, {"error": error})


def test_a_given_translation_is_explained(client):
    found = ask(client, "/v1/explain", **GIVEN).json()
    sentence = found.pop("sentence")
    assert found == {"model": "en-de", "source": "en", "target": "de"}
    assert (sentence["source"], sentence["text"]) == ("Hello World", "Hallo Welt")
    assert sentence["explanation"]["alignment"] == [[0, 0], [1, 1]]
    assert sentence["explanation"]["maps"][0]["weights"] == [[[1, 0], [0, 1]]]


def test_a_given_translation_is_explained_by_a_method(client):
    assert ask(client, "/v1/explain", **GIVEN, method="lrp").status_code == 200
    found = ask(client, "/v1/explain", **GIVEN, method="lrb")
    told = "method: there is no method lrb (did you mean 'lrp'?)"
    assert (found.status_code, found.json()) == (400, {"error": told})
    found = ask(client, "/v1/explain", **GIVEN, reasons=["lrp", "lrb"])
    assert (found.status_code, found.json()) == (400, {"error": told.replace("method", "reasons", 1)})


def test_methods_are_asked_for_once_each_beside_what_was_looked_at(client, engine):
    assert ask(client, "/v1/explain", **GIVEN, reasons=["lrp", "saliency", "lrp"]).status_code == 200
    assert (engine.asked[-1].method, engine.asked[-1].reasons) == ("", ("lrp", "saliency"))


def test_steps_of_a_search_are_told_when_they_are_asked_for(client, engine):
    for steps in (True, False):
        assert ask(client, "/v1/explain", **GIVEN, steps=steps).status_code == 200
        assert engine.asked[-1].steps is steps


def test_as_a_page(client):
    found = ask(client, "/v1/explain", source_text="<script>", target_text="Hallo", model="other", html=True)
    assert found.headers["content-type"].startswith("text/html")
    assert "sandbox" in found.headers["Content-Security-Policy"]
    assert "\\u003cscript\\u003e" in found.text


def test_an_answer_that_is_too_large():
    with served(settings=Settings(max_maps=600)) as client:
        fields = {"q": "Hello World", "source": "en", "target": "de"}
        assert ask(client, **fields).status_code == 200
        found = ask(client, **fields, maps=True)
        assert (found.status_code, "without maps" in found.json()["error"]) == (413, True)
        assert ask(client, "/v1/explain", **{**GIVEN, "source_text": "Hello " * 40}).status_code == 413


def test_what_would_be_too_large_is_not_even_made():
    """500 Chinese characters have as many bytes as 1,500 Latin ones, and about as many pieces as either."""
    engine = KnownEngine("en", "de")
    with served([engine]) as client:
        for text in ("Hello " * 250, "你" * 500):
            found = ask(client, q=text, source="en", target="de", maps=True)
            assert (found.status_code, "set maps to false" in found.json()["error"]) == (413, True)
            assert engine.asked == []
            assert ask(client, q=text, source="en", target="de", explain=True).status_code == 200
            engine.asked.clear()


@pytest.mark.parametrize(
    ("fields", "advice"),
    [
        ({"n_best": 10}, "ask for less text at a time, or for fewer of the n_best"),
        ({}, "ask for less text at a time"),
        ({"explain": True}, "ask for less text at a time, or without explain"),
        ({"maps": True}, "ask for one sentence at a time, or without maps"),
    ],
)
def test_what_is_told_of_an_answer_that_is_too_large_fits_the_question(fields, advice):
    with served(settings=Settings(max_maps=100)) as client:
        found = ask(client, q="Hello World", source="en", target="de", **fields)
    assert (found.status_code, found.json()["error"].rpartition(": ")[2]) == (413, advice)


def test_n_best_of_much_text_are_refused_before_the_model_works():
    """The source stands beside each of them: that much is known."""
    engine = KnownEngine("en", "de")
    with served([engine], Settings(max_maps=100_000)) as client:
        texts = ["Hello there, world. " * 200] * 6  # 24,000 characters
        assert ask(client, q=texts, source="en", target="de", n_best=5).status_code == 413
        assert engine.asked == []
        html = ["<p class='a'>" * 300 + "Hello"] * 6
        assert ask(client, q=html, source="en", target="de", n_best=10, format="html").status_code == 200


def test_a_large_answer_is_not_written_where_all_requests_pass(monkeypatch):
    threads = {}
    for name in ("_translated", "_text"):
        made = getattr(v1, name)
        monkeypatch.setattr(
            v1, name, lambda *given, made=made, name=name: (threads.setdefault(name, current_thread()), made(*given))[1]
        )
    with served() as client:
        loop = client.portal.call(current_thread)
        assert ask(client, q="Hello there. " * 100, source="en", target="de", n_best=10).status_code == 200
        assert loop not in threads.values()
        threads.clear()
        assert ask(client, q="Hello", source="en", target="de").status_code == 200
        assert set(threads.values()) == {loop}


@pytest.fixture
def fake():
    """What the tests of the page ask in place of a server."""
    started = FakeServer()
    yield started
    started.stop()


TRANSLATE = {"q": "Hello World. Hello", "source": "auto", "target": "de", "n_best": 3, "explain": True}


@pytest.mark.parametrize(
    ("path", "fields", "model"),
    [("translate", TRANSLATE, models.TranslateAnswer), ("explain", GIVEN, models.ExplainAnswer)],
    ids=["translate", "explain"],
)
def test_the_server_of_the_pages_tests_answers_as_the_real_one(client, fake, path, fields, model):
    """As it is described, no field more and none less."""
    real = ask(client, f"/v1/{path}", **fields, model="en-de").json()
    body = json.dumps({**fields, "model": "back"}).encode()
    with urlopen(Request(f"{fake.address}v1/{path}", body, {"Content-Type": "application/json"})) as answer:
        told = json.load(answer)
    for each in (real, told):
        assert model.model_validate(each).model_dump(exclude_unset=True) == each


def test_models(client):
    found = client.get("/v1/models").json()["models"]
    assert found[0] == {
        "name": "en-de", "source": "en", "target": "de", "ready": True, "parameters": 7, "attention": "dot",
        "layers": None, "heads": 1, "vocabulary": None, "sha256": "abc", "version": "abc",
        "task": "translation", "given": ["source"], "predicted": "target", "answers": "text",
        "pairs": None, "bleu": None, "scores": None, "demo": None, "examples": [],
        "methods": ["lrp", "saliency"], "grades": None, "calibration": None, "explains": True,
    }  # fmt: skip
    assert [model["name"] for model in found] == ["en-de", "de-en", "fr-en", "other"]


def test_other_words_in_place_of_one(client, engine):
    fields = {"source_text": "Hello you there", "target_text": "Hallo du da", "source": "en", "target": "de"}
    found = ask(client, "/v1/alternatives", **fields, word=1, count=2).json()
    assert engine.asked == [Alternatives((GivenText("Hello you there", "Hallo du da"),), word=1, count=2)]
    assert (found["model"], found["source"], found["target"]) == ("en-de", "en", "de")
    assert [(one["word"], one["probability"]) for one in found["alternatives"]] == [("du0", 0.3679), ("du1", 0.3679)]
    first = found["alternatives"][0]
    assert (first["text"], first["source"]) == ("Hallo du0 on", "Hello you there")
    assert first["explanation"]["target_words"][1]["text"] == "du0"


def test_no_words_stand_behind_the_last_one(client):
    assert ask(client, "/v1/alternatives", **GIVEN, word=7).json()["alternatives"] == []


@pytest.mark.parametrize(("settings", "told"), [(Settings(), ["A dog."]), (Settings(keys=Keys(["secret"])), [])])
def test_examples_are_told_where_nobody_needs_a_key(settings, told):
    [engine] = pairs("en-de")
    engine.info |= {"pairs": 12, "bleu": 30.5, "demo": False, "examples": ["A dog."]}
    with served([engine], settings) as found:
        [model] = found.get("/v1/models").json()["models"]
    assert (model["pairs"], model["bleu"], model["demo"], model["examples"]) == (12, 30.5, False, told)


@pytest.mark.parametrize(
    ("q", "source", "seems"), [("hallo guten", "en", "de"), ("hallo guten", "auto", None), ("Hello", "en", None)]
)
def test_a_text_that_seems_to_be_in_the_language_of_the_target(client, q, source, seems):
    [text] = ask(client, q=q, source=source, target="de").json()["texts"]
    assert text.get("seems", {}).get("language") == seems


def test_terms_and_prefixes_go_to_the_engine(client, engine):
    terms = "Hello\tHallo|Servus\n\nIBM"
    found = ask(client, q="Hello. World!", source="en", target="de", glossary=terms, target_prefix="Ser").json()
    lines = ("Hello\tHallo|Servus",)
    assert engine.asked == [
        Predict.lines(("Hello.",), glossary=lines, prefix="Ser"),
        Predict.lines(("World!",), glossary=lines),
    ]
    assert [one["source"] for one in found["texts"][0]["sentences"]] == ["Hello.", "World!"]
    engine.asked.clear()
    texts = ["Hello", "World", "Good morning!"]
    found = ask(client, q=texts, source="en", target="de", target_prefix=["", "W", ""]).json()
    assert engine.asked == [Predict.lines(("Hello", "Good morning!")), Predict.lines(("World",), prefix="W")]
    assert [one["translatedText"] for one in found["texts"]] == ["Hallo", "Welt", "Guten Morgen!"]


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({"glossary": "Hello\t"}, "Invalid request: glossary:1: the target is empty"),
        ({"glossary": "a\tb\na\tc"}, "Invalid request: glossary:2: 'a' is translated otherwise than in line 1"),
        ({"glossary": "a,b;c"}, "Invalid request: glossary:1: each line has a comma and a semicolon"),
        ({"glossary": "a\tb\tc"}, "Invalid request: glossary:1: 3 columns"),
        ({"target_prefix": ["a", "b"]}, "Invalid request: target_prefix: expected one prefix for each text of q"),
        (
            {"q": ["a", "b"], "target_prefix": "a"},
            "Invalid request: target_prefix: expected one prefix for each text of q",
        ),
    ],
)
def test_terms_that_cannot_be_kept_are_refused(client, engine, wanted, told):
    found = ask(client, **{"q": "Hello", "source": "en", "target": "de", **wanted})
    assert found.status_code == 400
    assert found.json()["error"].startswith(told)
    assert engine.asked == []
