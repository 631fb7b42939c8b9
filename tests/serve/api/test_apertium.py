"""Apertium's API beside LibreTranslate's, with the requests that OmegaT, Weblate and MediaWiki send."""

import json

import pytest
from known_engine import pairs, served
from questions import HELLO

from regard.serve.security import Keys
from regard.serve.settings import Settings


@pytest.fixture(scope="module")
def client():
    with served(pairs("en-de", "de-en", "en-zt", "fr-pb"), Settings(char_limit=200)) as found:
        yield found


def said(text):
    return {"responseData": {"translatedText": text}, "responseDetails": None, "responseStatus": 200}


REQUESTS = {  # as they stand on the wire
    "OmegaT": "/translate?q=Good+morning%21&markUnknown=no&langpair=en|de&key=",
    "OmegaT, regional": "/translate?q=Good+morning%21&markUnknown=yes&langpair=en_US|de&key=",
    "OmegaT, address with a slash": "//translate?q=Good+morning%21&markUnknown=no&langpair=en|de&key=",
    "Weblate": "/translate?langpair=en%7Cde&q=Good+morning%21&markUnknown=no",
    "MediaWiki": "/translate?langpair=eng|deu&q=Good+morning%21&markUnknown=no&format=html",
    "Virtaal": "/translate?appId=&q=Good+morning%21&langpair=en%7Cde&markUnknown=no&format=html",
}


@pytest.mark.parametrize("client_name", REQUESTS)
def test_recorded_requests_are_answered(client, client_name):
    found = client.get(f"http://127.0.0.1:5000{REQUESTS[client_name]}")
    assert (found.status_code, found.text) == (200, json.dumps(said("Guten Morgen!")))  # OmegaT searches for it


def test_markup_is_kept_in_html(client):
    found = client.get("/translate?langpair=en|de&q=<b>Hello</b> für&format=html")
    assert found.json() == said("<b>de:Hello</b> de:für") and found.text.isascii()


def test_weblate_and_virtaal_list_pairs(client):
    for path in ("/listPairs", "/listPairs?appId="):
        found = client.get(path).json()
        assert found["responseStatus"] == 200
        pairs_of = {(one["sourceLanguage"], one["targetLanguage"]) for one in found["responseData"]}
        assert pairs_of == {("en", "de"), ("de", "en"), ("en", "zh_Hant"), ("fr", "pt_BR")}


def test_a_form_with_a_pair_is_a_question_of_apertium(client):
    """LibreTranslate's /translate is the same path."""
    assert client.post("/translate", data={"langpair": "en|de", "q": "Hello"}).json() == said("Hallo")
    refused = client.post("/translate", data={"langpair": "en-de", "q": "Hello"})
    assert (refused.status_code, refused.json()["explanation"]) == (400, "langpair: en|de is expected")
    assert client.post("/translate", data=HELLO).json() == {"translatedText": "Hallo"}


def test_errors_name_parameters_of_the_client_alone(client):
    """A question of LibreTranslate in a GET is told how LibreTranslate asks."""
    found = client.get("/translate", params=HELLO)
    assert (found.status_code, found.headers["Allow"], list(found.json())) == (405, "POST", ["error"])
    asked = [client.post("/translate", data={name: HELLO[name] for name in HELLO if name != left}) for left in HELLO]
    assert not any("langpair" in one.text for one in (found, *asked))


@pytest.mark.parametrize("method", ["get", "post"])
def test_languages_are_identified_and_named(client, method):
    assert getattr(client, method)("/identifyLang", params={"q": "guten morgen!"}).json() == {"de": 0.9}
    assert client.get("/listLanguageNames?locale=de").json()["en"] == "Englisch"


@pytest.mark.parametrize(
    ("asked", "status"),
    [("", 400), ("langpair=en|de", 400), ("q=a", 400), ("langpair=en&q=a", 400), ("langpair=de|fr&q=a", 400),
     ("langpair=xx|de&q=a", 400), (f"langpair=en|de&q={'a' * 201}", 400)],
)  # fmt: skip
def test_a_refusal_has_the_forms_that_clients_read(client, asked, status):
    found = client.get(f"/translate?{asked}")
    told = found.json()
    assert (found.status_code, told["code"], told["responseStatus"], told["status"]) == (*[status] * 3, "error")
    assert told["explanation"] == told["responseDetails"] != ""


def test_the_key_is_a_field():
    with served(settings=Settings(keys=Keys(["secret"]))) as client:
        asked = "/translate?langpair=en|de&q=Hello&key="
        assert [client.get(f"{asked}{key}").status_code for key in ("secret", "wrong", "")] == [200, 403, 400]
        assert client.get("/identifyLang?q=Hello").status_code == 400
        assert client.get("/listPairs").status_code == 200


def test_a_full_queue_refuses_it_early():
    [engine] = pairs("en-de")
    engine.busy = 3
    with served([engine]) as client:
        found = client.get("/translate?langpair=en|de&q=Hello")
    assert (found.status_code, found.json()["responseStatus"], found.headers["Retry-After"]) == (429, 429, "3")


FRIEND = "https://friend.example"


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Sec-Fetch-Site": "cross-site"}, 403), ({"Origin": "https://evil.example"}, 403), ({"Origin": FRIEND}, 200),
     ({"Sec-Fetch-Site": "none"}, 200), ({"Sec-Fetch-Site": "same-origin"}, 200)],
)  # fmt: skip
def test_a_strange_page_cannot_make_a_model_work(headers, status):
    with served(settings=Settings(cors_origins=(FRIEND,))) as client:
        assert client.get("/translate?langpair=en|de&q=Hello", headers=headers).status_code == status
        assert client.get("/listPairs", headers=headers).status_code == 200
