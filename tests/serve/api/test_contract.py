"""LibreTranslate's contract, row by row, with every kind of body."""

import pytest
from known_engine import KnownEngine, pairs, served
from questions import HELLO, KINDS, ask, plain
from starlette.testclient import TestClient

from regard.documents.files import SUFFIXES
from regard.serve.app import create_app
from regard.serve.engine.engines import Engines
from regard.serve.engine.faults import Busy, Failed, NotReady, OutOfMemory, TooLate, TooLong
from regard.serve.service import Service
from regard.serve.settings import MIB, Settings


@pytest.fixture(scope="module")
def client():
    settings = Settings(char_limit=30, batch_limit=3, alternatives_limit=4)
    with served(pairs("en-de", "de-en", "fr-en", "zh-en"), settings) as found:
        yield found


SINGLE = [
    (HELLO, {"translatedText": "Hallo"}),
    ({**HELLO, "q": "Hello there"}, {"translatedText": "de:Hello de:there"}),
    ({**HELLO, "source": "EN", "target": "De"}, {"translatedText": "Hallo"}),
    ({**HELLO, "api_key": "of no use here"}, {"translatedText": "Hallo"}),
    (
        {"q": "Hallo", "source": "auto", "target": "en"},
        {"detectedLanguage": {"confidence": 90.0, "language": "de"}, "translatedText": "Hello"},
    ),
    ({**HELLO, "alternatives": 2}, {"alternatives": ["Hallo 1", "Hallo 2"], "translatedText": "Hallo"}),
    ({**HELLO, "alternatives": 0}, {"translatedText": "Hallo"}),
    ({**HELLO, "format": "html", "alternatives": 2}, {"alternatives": [], "translatedText": "Hallo"}),
    ({**HELLO, "q": " 😀 12 \n"}, {"translatedText": " 😀 12 \n"}),
    ({"q": "你好", "source": "zh-Hans", "target": "en"}, {"translatedText": "en:你好"}),
    (
        {"q": "你好", "source": "auto", "target": "en"},
        {"detectedLanguage": {"confidence": 90.0, "language": "zh-Hans"}, "translatedText": "en:你好"},
    ),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("fields", "answer"), SINGLE, ids=range(len(SINGLE)))
def test_a_single_text(client, fields, answer, kind):
    assert plain(ask(client, "/translate", fields, kind)) == (200, answer)


REFUSED = [
    ({"source": "en", "target": "de"}, "Invalid request: missing q parameter"),
    ({**HELLO, "q": ""}, "Invalid request: missing q parameter"),
    ({"q": "Hello", "target": "de"}, "Invalid request: missing source parameter"),
    ({"q": "Hello", "source": "en"}, "Invalid request: missing target parameter"),
    ({**HELLO, "alternatives": "x"}, "Invalid request: alternatives parameter is not a number"),
    ({**HELLO, "alternatives": "9" * 5000}, "Invalid request: alternatives parameter is not a number"),
    ({**HELLO, "alternatives": 5}, "Invalid request: alternatives parameter must be <= 4"),
    ({**HELLO, "q": "x" * 31}, "Invalid request: request (31) exceeds text limit (30)"),
    ({**HELLO, "source": "zz"}, "zz is not supported"),
    ({**HELLO, "target": "zz"}, "zz is not supported"),
    ({**HELLO, "target": "auto"}, "auto is not supported"),
    ({**HELLO, "format": "xml"}, "xml format is not supported"),
    ({**HELLO, "target": "fr"}, "French (fr) is not available as a target language from English (en)"),
    ({**HELLO, "target": "zh"}, "Chinese (zh-Hans) is not available as a target language from English (en)"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("fields", "error"), REFUSED, ids=range(len(REFUSED)))
def test_a_refusal_in_its_words(client, fields, error, kind):
    assert plain(ask(client, "/translate", fields, kind)) == (400, {"error": error})


def test_checks_in_their_order(client):
    """A question that is wrong in every way is mended step by step: each time the next fault is told."""
    fields = {"alternatives": "x", "format": "xml"}
    mended = [
        ({"q": "x" * 31}, "Invalid request: missing q parameter"),
        ({"source": "zz"}, "Invalid request: missing source parameter"),
        ({"target": "yy"}, "Invalid request: missing target parameter"),
        ({"alternatives": 5}, "Invalid request: alternatives parameter is not a number"),
        ({"alternatives": 1}, "Invalid request: alternatives parameter must be <= 4"),
        ({"q": "x"}, "Invalid request: request (31) exceeds text limit (30)"),
        ({"source": "en"}, "zz is not supported"),
        ({"target": "fr"}, "yy is not supported"),
        ({"format": "text"}, "xml format is not supported"),
        ({"target": "de"}, "French (fr) is not available as a target language from English (en)"),
    ]
    told = []
    for change, _ in mended:
        told.append(ask(client, "/translate", fields, "json").json()["error"])
        fields |= change
    assert told == [error for _, error in mended]
    assert ask(client, "/translate", fields, "json").status_code == 200


BATCHES = [
    ({**HELLO, "q": ["Hello", "World"]}, {"translatedText": ["Hallo", "Welt"]}),
    ({**HELLO, "q": ["Hello"]}, {"translatedText": ["Hallo"]}),
    ({**HELLO, "q": ["Hello", "", "  "]}, {"translatedText": ["Hallo", "", "  "]}),
    ({**HELLO, "q": ["Hello", "", " 5 "]}, {"translatedText": ["Hallo", "", " 5 "]}),
    (
        {"q": ["Hello", "bonjour"], "source": "auto", "target": "en"},
        {
            "detectedLanguage": [{"confidence": 90.0, "language": "en"}, {"confidence": 90.0, "language": "fr"}],
            "translatedText": ["Hello", "en:bonjour"],
        },
    ),
    (
        {**HELLO, "q": ["World", "5"], "alternatives": 1},
        {"alternatives": [["Welt 1"], []], "translatedText": ["Welt", "5"]},
    ),
]


@pytest.mark.parametrize(("fields", "answer"), BATCHES, ids=range(len(BATCHES)))
def test_a_batch_has_lists_of_its_length(client, fields, answer):
    assert plain(ask(client, "/translate", fields, "json")) == (200, answer)


@pytest.mark.parametrize(
    ("q", "error"),
    [
        (["a"] * 4, "Invalid request: request (4) exceeds text limit (3)"),
        (["a", "x" * 31], "Invalid request: request (31) exceeds text limit (30)"),
        ([], "Invalid request: missing q parameter"),
        (["a", 5], "Invalid request: missing q parameter"),
        (5, "Invalid request: missing q parameter"),
        ({"a": 1}, "Invalid request: missing q parameter"),
        (None, "Invalid request: missing q parameter"),
        (True, "Invalid request: missing q parameter"),
    ],
)
def test_a_batch_that_is_none(client, q, error):
    assert plain(ask(client, "/translate", {**HELLO, "q": q}, "json")) == (400, {"error": error})


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("source", 5, "Invalid request: missing source parameter"),
        ("target", ["de"], "Invalid request: missing target parameter"),
        ("alternatives", [], "Invalid request: alternatives parameter is not a number"),
        ("alternatives", True, "Invalid request: alternatives parameter is not a number"),
        ("alternatives", 1.5, "Invalid request: alternatives parameter is not a number"),
        ("format", 5, "5 format is not supported"),
    ],
)
def test_fields_of_a_strange_kind(client, name, value, error):
    assert plain(ask(client, "/translate", {**HELLO, name: value}, "json")) == (400, {"error": error})


@pytest.mark.parametrize("value", [None, 0, -3, 2.0], ids=str)
def test_alternatives_that_are_numbers(client, value):
    assert ask(client, "/translate", {**HELLO, "alternatives": value}, "json").status_code == 200


def test_detection_falls_to_a_language_that_is_translated():
    """Two thirds of the words are French, which nothing translates into German; the rest is English."""
    with served(pairs("en-de", "fr-en")) as client:
        found = ask(client, "/translate", {"q": "bonjour monde hello", "source": "auto", "target": "de"}, "json")
        assert found.json()["detectedLanguage"] == {"confidence": 30.0, "language": "en"}
        found = ask(client, "/translate", {"q": "bonjour monde", "source": "auto", "target": "de"}, "json")
        told = "German (de) is not available as a target language from French (fr)"
        assert plain(found) == (400, {"error": told})


def test_a_language_that_is_only_guessed_does_not_refuse():
    """Half of the words are French, which nothing translates into German."""
    with served(pairs("en-de", "fr-en")) as client:
        found = ask(client, "/translate", {"q": "bonjour hello", "source": "auto", "target": "de"}, "json")
        assert found.json()["detectedLanguage"] == {"confidence": 45.0, "language": "en"}
        texts = ["hello", "bonjour hello", "bonjour monde"]
        found = ask(client, "/translate", {"q": texts, "source": "auto", "target": "de"}, "json")
        told = "text 3: German (de) is not available as a target language from French (fr)"
        assert plain(found) == (400, {"error": told})


def test_typing_a_sentence_never_refuses():
    """With the detector that is served."""
    said = "Lisa is sad."
    service = Service(Settings(), Engines(pairs("en-de", "de-en")), lambda error: None)
    with TestClient(create_app(service), base_url="http://127.0.0.1:5000") as client:
        client.portal.call(service.started)
        texts = [said[:end] for end in range(1, len(said) + 1)] + ["A man sings.", "Ein Hund.", "xx"]
        for text in texts:
            found = ask(client, "/translate", {"q": text, "source": "auto", "target": "de"}, "json")
            assert found.status_code == 200, text
            wanted = "de" if text == "Ein Hund." else "en"
            assert found.json()["detectedLanguage"]["language"] == wanted, text
        for text in ("Bonjour le monde", "你好", "Um cachorro preto corre."):
            assert ask(client, "/translate", {"q": text, "source": "auto", "target": "de"}, "json").status_code == 400


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("q", "answer"),
    [
        ("bonjour monde", [{"confidence": 90.0, "language": "fr"}]),
        ("bonjour x", [{"confidence": 45.0, "language": "fr"}, {"confidence": 45.0, "language": "en"}]),
        ("你好", [{"confidence": 90.0, "language": "zh-Hans"}]),
        ("12345", [{"confidence": 0.0, "language": "en"}]),
    ],
)
def test_detect(client, q, answer, kind):
    assert plain(ask(client, "/detect", {"q": q}, kind)) == (200, answer)


def test_detect_knows_three_at_most_and_takes_a_list(client):
    found = ask(client, "/detect", {"q": ["bonjour hallo", "你好 word"]}, "json")
    assert [len(found.json()), found.status_code] == [3, 200]
    assert plain(ask(client, "/detect", {"q": ""}, "json")) == (400, {"error": "Invalid request: missing q parameter"})


def test_languages(client):
    assert client.get("/languages").json() == [
        {"code": "de", "name": "German", "targets": ["en"]},
        {"code": "en", "name": "English", "targets": ["de"]},
        {"code": "fr", "name": "French", "targets": ["en"]},
        {"code": "zh-Hans", "name": "Chinese", "targets": ["en"]},
    ]


@pytest.mark.parametrize(
    ("header", "name"),
    [("fr", "Allemand"), ("fr-CA,en;q=0.5", "Allemand"), ("xx, de;q=0.4", "Deutsch"), ("zh-Hans-CN", "德语"),
     ("", "German"), ("de;q=0, fr;q=x, en", "German"), ("*", "German"), ("," * 1000, "German")],
)  # fmt: skip
def test_names_follow_the_reader(client, header, name):
    found = client.get("/languages", headers={"Accept-Language": header}).json()
    assert found[0] == {"code": "de", "name": name, "targets": ["en"]}


def test_languages_with_a_body_as_libretranslatepy_sends_it(client):
    found = client.request("GET", "/languages", data={"api_key": "k"})
    assert found.status_code == 200


def test_frontend_settings(client):
    found = client.get("/frontend/settings").json()
    assert found == {
        "charLimit": 30,
        "frontendTimeout": 500,
        "apiKeys": False,
        "keyRequired": False,
        "suggestions": False,
        "filesTranslation": True,
        "supportedFilesFormat": list(SUFFIXES),
        "language": {"source": {"code": "auto", "name": "Auto Detect"}, "target": {"code": "de", "name": "German"}},
        "batchLimit": 3,
        "alternativesLimit": 4,
        "fileSizeLimit": 10 * MIB,
    }


def test_health(client):
    assert [plain(client.get(path)) for path in ("/health", "/healthz", "/readyz")] == [(200, {"status": "ok"})] * 3


def test_the_specification(client):
    found = client.get("/spec")
    assert found.status_code == 200
    assert {"/translate", "/detect", "/languages", "/translate_file", "/suggest"} <= set(found.json()["paths"])


@pytest.mark.parametrize("path", ["/v1/translate", "/detect", "/suggest", "/translate_file"])
def test_a_wrong_method(client, path):
    assert plain(client.get(path)) == (405, {"error": "Method Not Allowed"})


def test_a_wrong_path(client):
    assert plain(client.get("/nothing")) == (404, {"error": "Not Found"})


FAULTS = [
    (Busy(2), 429, "Slowdown: server busy, retry in 2 seconds", "2"),
    (NotReady(3), 503, "model not ready, retry in 3 seconds", "3"),
    (TooLate(), 503, "request timed out in the queue", "5"),
    (OutOfMemory(0), 413, "text 1 does not fit into memory", None),
    (TooLong(0, 900, 500), 400, "Invalid request: request (900) exceeds text limit (500)", None),
    (Failed(0, "ValueError"), 500, "text 1 could not be answered: ValueError", None),
]


@pytest.mark.parametrize(("fault", "status", "error", "retry"), FAULTS, ids=[type(row[0]).__name__ for row in FAULTS])
def test_faults_of_an_engine(fault, status, error, retry):
    engine = KnownEngine("en", "de")
    engine.fault = fault
    with served([engine]) as client:
        found = ask(client, "/translate", HELLO, "form")
    assert (plain(found), found.headers.get("Retry-After")) == ((status, {"error": error}), retry)
