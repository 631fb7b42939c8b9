"""POST /v1/predict: any model is asked, by the rules of /v1/translate."""

import pytest
from known_engine import KnownClassifier, pairs, served
from questions import HELLO

from regard.explain.page import to_json
from regard.serve.api import models
from regard.serve.engine.faults import Busy, TooLong, Unreadable
from regard.serve.engine.questions import Predict
from regard.serve.security import Keys
from regard.serve.settings import Settings

GOOD, BAD = {"good": 0.75, "bad": 0.25}, {"bad": 0.75, "good": 0.25}


@pytest.fixture(scope="module")
def client():
    engines = [*pairs("en-de"), KnownClassifier(), KnownClassifier("entailment", ("first", "second"))]
    with served(engines, Settings(char_limit=40, batch_limit=3)) as found:
        yield found


@pytest.fixture
def engine(client):
    found = client.app.service.engines["reviews"]
    found.asked.clear()
    return found


def ask(client, path="/v1/predict", **fields):
    return client.post(path, json=fields)


def test_labels_with_their_probabilities(client):
    """The first model that is no translator answers, if none is named."""
    found = ask(client, texts=["a fine film", "dull"]).json()
    assert (found["model"], found["task"]) == ("reviews", "classification")
    told = [(one["source"], one["text"], one["details"]["probabilities"]) for one in found["predictions"]]
    assert told == [("a fine film", "good", GOOD), ("dull", "bad", BAD)]
    assert models.PredictAnswer.model_validate(found).model_dump(exclude_unset=True) == found


@pytest.mark.parametrize(
    ("wanted", "question"),
    [
        ({}, Predict.lines(("a fine film",))),
        ({"explain": True}, Predict.lines(("a fine film",), explain=True)),
        ({"maps": True}, Predict.lines(("a fine film",), explain=True, maps=True)),
    ],
)
def test_what_a_model_is_asked_for(client, engine, wanted, question):
    found = ask(client, texts=["a fine film"], **wanted).json()["predictions"]
    assert engine.asked == [question]
    assert found == to_json([engine._predict("a fine film", "", question)])["predictions"]
    assert (found[0]["explanation"] is not None) is question.explain


def test_several_texts_of_a_model_that_writes(client):
    writer = client.app.service.engines["en-de"]
    writer.asked.clear()
    assert ask(client, model="en-de", texts=["yes"], n_best=3).status_code == 200
    assert writer.asked == [Predict.lines(("yes",), n_best=3)]


def test_several_labels_are_asked_for(client, engine):
    assert ask(client, texts=["a fine film"], n_best=2).status_code == 200
    assert engine.asked == [Predict.lines(("a fine film",), n_best=2)]


def test_examples_by_column(client):
    entailment = client.app.service.engines["entailment"]
    entailment.asked.clear()
    example = {"second": "a\tcat", "first": "fine dog"}
    found = ask(client, model="entailment", examples=[example], explain=True).json()
    assert entailment.asked == [Predict.lines(("fine dog\ta cat",), explain=True)]
    [one] = found["predictions"]
    assert one["explanation"]["columns"]["second"]["words"][1] == {"text": "cat", "pieces": [1]}
    assert [(each["queries"], each["keys"]) for each in one["explanation"]["maps"]] == [("", "first"), ("", "second")]
    assert ask(client, model="entailment", texts=["fine dog\ta cat"]).json()["predictions"][0]["text"] == "good"


def test_a_translator_is_asked_by_its_name(client):
    [one] = ask(client, model="en-de", texts=["Hello"]).json()["predictions"]
    assert (one["source"], one["text"]) == ("Hello", "Hallo")
    [one] = ask(client, model="en-de", examples=[{"source": "Hello"}]).json()["predictions"]
    assert one["text"] == "Hallo"


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({}, "Invalid request: missing texts parameter"),
        ({"texts": []}, "Invalid request: missing texts parameter"),
        ({"texts": "a"}, "Invalid request: texts: Input should be a valid list"),
        ({"texts": [1]}, "Invalid request: texts: Input should be a valid string"),
        ({"texts": ["a"], "examples": [{"text": "a"}]}, "Invalid request: give either texts or examples, not both"),
        (
            {"examples": [{"txt": "a"}]},
            "Invalid request: example 1: txt is not a column of reviews (did you mean 'text'?)",
        ),
        ({"examples": [{"text": "a"}, {}]}, "Invalid request: example 2 lacks the column text of reviews"),
        (
            {"model": "entailment", "texts": ["a\tb", "a"]},
            "Invalid request: text 2 has 1 field, and entailment reads 2: first, a tab, second",
        ),
        ({"texts": ["a"], "model": "review"}, "review is not a model of this server (did you mean 'reviews'?)"),
        ({"texts": ["a"] * 4}, "Invalid request: 4 texts are more than this server takes at once: 3"),
        ({"texts": ["a", "b" * 41]}, "Invalid request: text 2 has 41 characters, more than this server takes: 40"),
        ({"texts": ["a"], "n_best": 11}, "Invalid request: n_best: Input should be less than or equal to 10"),
        (
            {"texts": ["a"], "n_best": 3},
            "Invalid request: reviews: n_best: is 3, and the model has 2 labels (at most 2)",
        ),
        ({"text": ["a"]}, "Invalid request: text: there is no such field (did you mean 'texts'?)"),
    ],
)
def test_refusals(client, fields, error):
    found = ask(client, **fields)
    assert (found.status_code, found.json()) == (400, {"error": error})


@pytest.mark.parametrize(
    ("fields", "empty"),
    [
        ({"texts": ["a fine film", " ", "dull"]}, {1: "text"}),
        ({"examples": [{"text": "\n"}, {"text": "dull"}]}, {0: "text"}),
        ({"model": "entailment", "texts": ["a\t", "a\tb", "\tb"]}, {0: "second", 2: "first"}),
        ({"texts": [""]}, {0: "text"}),
    ],
)
def test_an_empty_text_keeps_no_other_from_its_answer(client, fields, empty):
    found = ask(client, **fields)
    assert found.status_code == 200
    for place, one in enumerate(found.json()["predictions"]):
        assert bool(one["text"]) is (place not in empty)
        assert (f"its {empty.get(place)} is empty" in one.get("details", {}).get("warning", "")) is (place in empty)


def test_faults_name_the_place_among_all_texts(client, engine):
    engine.fault = Unreadable(0, "is odd")
    found = ask(client, texts=["", "dull"])
    engine.fault = None
    assert found.status_code == 400 and "text 2" in found.json()["error"]


def test_maps_of_long_texts_are_refused():
    with served([KnownClassifier()]) as client:
        assert ask(client, texts=["a" * 1201], maps=True).status_code == 413
        assert ask(client, texts=["a" * 1201], explain=True).status_code == 200


def test_an_answer_that_is_too_large():
    with served([KnownClassifier()], Settings(max_maps=400)) as client:
        assert ask(client, texts=["a fine film"]).status_code == 200
        found = ask(client, texts=["a fine film"], explain=True)
        assert (found.status_code, "without explain" in found.json()["error"]) == (413, True)


def test_keys_limits_and_faults_are_those_of_translation():
    engine = KnownClassifier()
    with served([engine], Settings(keys=Keys(["secret"]), req_limit=4, metrics=True)) as client:
        assert ask(client, texts=["a"]).json() == {"error": "Please contact the server operator to get an API key"}
        assert ask(client, texts=["a"], api_key="wrong").status_code == 403
        assert ask(client, texts=["a"], api_key="secret").status_code == 200
        engine.fault = TooLong(0, 12, 9)
        found = ask(client, texts=["a"], api_key="secret")
        assert (found.status_code, found.json()["error"]) == (
            400,
            "Invalid request: request (12) exceeds text limit (9)",
        )
        engine.fault = Unreadable(1, "numbers: 'a' is no number")
        found = ask(client, texts=["1", "a"], api_key="secret")
        assert (found.status_code, found.json()["error"]) == (400, "text 2: numbers: 'a' is no number")
        engine.fault = Busy(3)
        found = ask(client, texts=["a"], api_key="secret")
        assert (found.status_code, found.headers["Retry-After"]) == (429, "3")
        engine.fault, engine.busy = None, 5
        assert ask(client, texts=["a"], api_key="secret").headers["Retry-After"] == "5"
        assert 'route="/v1/predict",status="200"' in client.get("/metrics").text


def test_a_server_without_translators():
    """Its languages are none; what would translate says where to ask instead."""
    with served([KnownClassifier()]) as client:
        assert client.get("/readyz").status_code == 200
        assert client.get("/languages").json() == []
        assert client.get("/frontend/settings").json()["language"]["target"] == {"code": "", "name": ""}
        told = {"error": "no model of this server translates; use POST /v1/predict"}
        for path in ("/translate", "/v1/translate"):
            found = client.post(path, json=HELLO)
            assert (found.status_code, found.json()) == (400, told)
        found = client.post("/v1/translate", json={**HELLO, "model": "reviews"})
        assert found.json() == {"error": "reviews is not a translator; use POST /v1/predict"}
        texts = {"source_text": "a", "target_text": "b"}
        assert ask(client, "/v1/explain", **texts, model="reviews").status_code == 400
        [model] = client.get("/v1/models").json()["models"]
        told = {key: model[key] for key in ("name", "task", "given", "predicted", "answers", "source", "target")}
        assert told == {
            "name": "reviews", "task": "classification", "given": ["text"], "predicted": "label", "answers": "label",
            "source": None, "target": None,
        }  # fmt: skip


@pytest.mark.parametrize(("row", "form"), [("continuation", "text"), ("filling", "text"), ("label", "label")])
def test_clients_are_told_the_form_of_answers(row, form):
    """Whatever the row of a model is called, they know text, label, tags, span, numbers and neighbours."""
    engine = KnownClassifier()
    engine.info["answers"] = row
    with served([engine]) as client:
        [model] = client.get("/v1/models").json()["models"]
        assert model["answers"] == form


def test_a_choice_of_languages_leaves_what_is_between_none():
    engines = [*pairs("en-de", "fr-en"), KnownClassifier()]
    with served(engines, Settings(load_only=("en", "de"))) as client:
        assert [model["name"] for model in client.get("/v1/models").json()["models"]] == ["en-de", "reviews"]
    assert [engine.started and not engine.ready for engine in engines[1:2]] == [True]
