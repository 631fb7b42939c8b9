"""The access log: a line for each request, no text in it; and who asked, in the metrics."""

import json
import os

import pytest
from known_engine import KnownClassifier, pairs, served

from regard.errors import ConfigError
from regard.serve.security import Keys
from regard.serve.settings import Settings
from regard.serve.telemetry import AccessLog

PAIR = {"source": "en", "target": "de"}
HELLO = {"q": "Hello", **PAIR}
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
