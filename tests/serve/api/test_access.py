"""Who may ask: keys, requests a minute, and the ban; and the line of the log that each request leaves."""

import json
import os
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from fastapi import Request
from known_engine import KnownClassifier, pairs, served
from questions import HELLO, KINDS, ask, plain

from regard.errors import ConfigError
from regard.serve.api.access import admit
from regard.serve.errors import ApiError
from regard.serve.glossary_store import GlossaryStore
from regard.serve.security import Keys, Rates
from regard.serve.settings import NO_LIMIT, Settings
from regard.serve.telemetry import AccessLog, Asked


@pytest.mark.parametrize("kind", KINDS)
def test_keys(kind):
    with served(settings=Settings(keys=Keys(["secret"]))) as client:
        told = {"error": "Please contact the server operator to get an API key"}
        assert plain(ask(client, "/translate", HELLO, kind)) == (400, told)
        assert plain(ask(client, "/translate", {**HELLO, "api_key": ""}, kind)) == (400, told)
        wrong = ask(client, "/translate", {**HELLO, "api_key": "public"}, kind)
        assert plain(wrong) == (403, {"error": "Invalid API key"})
        assert ask(client, "/translate", {**HELLO, "api_key": "secret"}, kind).status_code == 200
        assert ask(client, "/translate", HELLO, kind, Authorization="Bearer secret").status_code == 200
        assert ask(client, "/translate", HELLO, kind, Authorization="Bearer public").status_code == 403
        assert client.get("/languages").status_code == 200
        assert client.get("/frontend/settings").json()["keyRequired"] is True


def test_where_a_key_can_be_had():
    with served(settings=Settings(keys=Keys(["secret"]), key_link="https://example.org")) as client:
        told = {"error": "Visit https://example.org to get an API key"}
        assert plain(ask(client, "/translate", HELLO, "json")) == (400, told)


def test_the_key_comes_before_the_question():
    with served(settings=Settings(keys=Keys(["secret"]))) as client:
        assert ask(client, "/translate", {}, "json").json()["error"].startswith("Please contact")


def test_requests_a_minute_and_the_ban():
    with served(settings=Settings(req_limit=2, req_flood_threshold=1)) as client:
        found = [ask(client, "/translate", HELLO, "json") for _ in range(5)]
        assert [response.status_code for response in found] == [200, 200, 429, 429, 403]
        assert found[2].json() == {"error": "Slowdown: 2 per 1 minute"}
        assert 1 <= int(found[2].headers["Retry-After"]) <= 61
        assert found[4].json() == {"error": "Too many request limits violations"}
        assert client.get("/languages").status_code == 200


@pytest.mark.parametrize("where", ["body", "head"])
def test_wrong_keys_count_as_requests(where):
    """Or they could be guessed."""
    with served(settings=Settings(keys=Keys(["secret"]), req_limit=2, req_flood_threshold=1)) as client:
        fields = {**HELLO, "api_key": "guess"} if where == "body" else HELLO
        headers = {} if where == "body" else {"Authorization": "Bearer guess"}
        found = [ask(client, "/translate", fields, "json", **headers) for _ in range(5)]
    assert [response.status_code for response in found] == [403, 403, 429, 429, 403]
    assert found[-1].json() == {"error": "Too many request limits violations"}


def test_a_key_does_only_what_it_has_a_right_to(tmp_path):
    keys, place = tmp_path / "keys", tmp_path / "better"
    keys.write_text("one\tann\ttranslate\ntwo\tbob\tsuggest\nthree\n", encoding="utf-8")
    suggestion = {**HELLO, "s": "Hallo!"}
    with served(settings=Settings(keys=Keys(file=keys), suggestions=place)) as client:
        for key, statuses in {"one": (200, 403), "two": (403, 200), "three": (200, 200)}.items():
            asked = {"api_key": key}
            found = [ask(client, "/translate", {**HELLO, **asked}, "json")]
            found.append(ask(client, "/suggest", {**suggestion, **asked}, "json"))
            assert tuple(one.status_code for one in found) == statuses
        refused = ask(client, "/suggest", {**suggestion, "api_key": "one"}, "json")
        assert refused.json() == {"error": "This needs an API key with the right suggest"}
    assert len(lines(place)) == 2


@pytest.mark.parametrize("given", ["", "plain", "admin"])
def test_administration_needs_a_key_with_that_right(given, tmp_path):
    """Also of a server without keys, where anyone may translate."""
    keys = tmp_path / "keys"
    keys.write_text("plain\tann\nadmin\troot\tadmin\n", encoding="utf-8")
    settings = Settings(keys=Keys(file=keys) if given else Keys())
    stored = GlossaryStore(None)
    service = SimpleNamespace(settings=settings, rates=Rates(NO_LIMIT, NO_LIMIT), stored_glossaries=stored)
    request = Request({"type": "http", "headers": [], "client": ("::1", 1), "state": {"asked": Asked()}})
    allowed = given == "admin"
    with nullcontext() if allowed else pytest.raises(ApiError, match="right admin"):
        admit(service, request, {"api_key": given}, "admin")


PAIR = {"source": "en", "target": "de"}
HALLO = b'{"translatedText":"Hallo"}'
BODY = json.dumps(HELLO).encode()


def lines(file):
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_a_line_for_each_request(tmp_path):
    keys, log = tmp_path / "keys", tmp_path / "log"
    keys.write_text("secret-key\tmastodon\n", encoding="utf-8")
    settings = Settings(access_log=str(log), keys=Keys(file=keys), metrics=True)
    engines = [*pairs("en-de"), KnownClassifier()]
    with served(engines, settings) as client:
        bearer = {"Authorization": "Bearer secret-key", "X-Request-Id": "mine"}
        client.post("/translate", content=BODY, headers={**bearer, "Content-Type": "application/json"})
        client.post("/v1/translate", json={**HELLO, "q": ["Hello", "World"]}, headers=bearer)
        client.post("/v1/predict", json={"texts": ["a fine film"], "api_key": "secret-key"})
        client.post("/v1/explain", json={"source_text": "Hello", "target_text": "Hallo", **PAIR}, headers=bearer)
        client.post("/translate", json={**HELLO, "api_key": "guessed"})
        client.get("/secret-place?q=Hello")
        measured = client.get("/metrics").text
    first, *rest = lines(log)
    assert first.pop("time").endswith("Z")
    assert (first.pop("seconds") >= 0, first.pop("client")) == (True, "testclient")
    assert first == {
        "request_id": "mine", "key": "mastodon", "method": "POST", "route": "/translate", "status": 200,
        "bytes_in": len(BODY), "bytes_out": len(HALLO), "model": "en-de", "pair": "en-de", "texts": 1, "characters": 5,
    }  # fmt: skip
    told = [(one["route"], one["status"], one["key"], one["model"], one["texts"], one["characters"]) for one in rest]
    assert told == [
        ("/v1/translate", 200, "mastodon", "en-de", 2, 10),
        ("/v1/predict", 200, "mastodon", "reviews", 1, 11),
        ("/v1/explain", 200, "mastodon", "en-de", 1, 5),
        ("/translate", 403, None, None, None, None),
        ("other", 404, None, None, None, None),
        ("/metrics", 200, None, None, None, None),
    ]
    said = log.read_text("utf-8")
    assert not [word for word in ("Hello", "Hallo", "fine", "secret", "guessed") if word in said]
    assert 'regard_requests_total{model="reviews",pair="",route="/v1/predict",status="200"} 1.0' in measured
    assert 'regard_key_requests_total{key="mastodon",status="200"} 4.0' in measured
    assert "secret-key" not in measured


def test_texts_are_logged_on_request(tmp_path):
    log = tmp_path / "log"
    with served(settings=Settings(access_log=str(log), log_texts=True)) as client:
        ask(client, "/translate", HELLO, "json")
        client.get("/languages")
    assert [one["source"] for one in lines(log)] == [["Hello"], []]


def test_every_model_has_its_time_and_characters():
    with served([*pairs("en-de"), KnownClassifier()], Settings(metrics=True)) as client:
        ask(client, "/translate", {**HELLO, "q": "Hello you"}, "json")
        ask(client, "/translate", {**HELLO, "q": ""}, "json")
        client.post("/v1/predict", json={"texts": ["a fine film"]})
        measured = client.get("/metrics").text
    for route, model, characters in (("/translate", "en-de", 9.0), ("/v1/predict", "reviews", 11.0)):
        labels = f'{{model="{model}",route="{route}"}}'
        assert f"regard_characters_total{labels} {characters}" in measured
        assert f"regard_request_seconds_count{labels} 1.0" in measured


def test_after_a_rotation_the_next_line_is_in_the_new_file(tmp_path):
    file = tmp_path / "log"
    log = AccessLog(str(file))
    log.write({"number": 1})
    file.rename(tmp_path / "log.1")
    log.write({"number": 2})
    log.reopen()
    log.write({"number": 3})
    log.close()
    assert [[one["number"] for one in lines(tmp_path / name)] for name in ("log.1", "log")] == [[1, 2], [3]]


def test_a_place_that_cannot_be_written(tmp_path):
    for place in (tmp_path, tmp_path / "none" / "log"):
        with pytest.raises(ConfigError, match="cannot be written"):
            AccessLog(str(place))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device here")
def test_lines_that_are_lost_are_told_once(caplog):
    log = AccessLog("/dev/full")
    for _ in range(3):
        log.write({})
    log.close()
    assert [one.getMessage().count("lines are lost") for one in caplog.records] == [1]
