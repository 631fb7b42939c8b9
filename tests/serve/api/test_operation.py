"""Health, loading, ending, and what is measured."""

import asyncio
import json
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from known_engine import KnownEngine, listening_server, made, pairs, served
from questions import HELLO
from starlette.testclient import TestClient

from regard.errors import CheckpointError, ConfigError, RegardError
from regard.serve.app import create_app
from regard.serve.engine.engines import Engines
from regard.serve.service import Service
from regard.serve.settings import Settings, read_prefix

ADDRESS = "http://localhost"


class Slow(KnownEngine):
    """Is not loaded before it is let."""

    async def start(self) -> None:
        self.held = asyncio.Event()
        await self.held.wait()
        self.held = None
        await super().start()


def test_while_it_loads():
    engine = Slow("en", "de")
    service = made([engine])
    with TestClient(create_app(service), base_url=ADDRESS) as client:
        for path in ("/readyz", "/languages", "/v1/models", "/frontend/settings"):
            found = client.get(path)
            assert (found.status_code, list(found.json()), int(found.headers["Retry-After"]) > 0) == (
                503,
                ["error"],
                True,
            )
        assert client.post("/translate", data=HELLO).status_code == 503
        assert client.post("/translate", data={}).json() == {"error": "Invalid request: missing q parameter"}
        assert (client.get("/healthz").status_code, client.get("/docs").status_code) == (200, 200)
        client.portal.call(engine.held.set)
        client.portal.call(service.started)
        assert client.post("/translate", data=HELLO).status_code == 200
        assert client.get("/readyz").status_code == 200
    assert engine.stopped


def test_when_an_engine_is_not_ready_any_more():
    with served() as client:
        client.app.service.engines["en-de"].ready = False
        assert (client.get("/readyz").status_code, client.get("/healthz").status_code) == (503, 200)


def test_when_it_ends():
    with served() as client:
        client.app.service.draining = True
        found = client.post("/translate", data=HELLO)
        assert (found.status_code, found.headers["Retry-After"], found.headers["Connection"]) == (503, "5", "close")
        assert [client.get(path).status_code for path in ("/readyz", "/healthz", "/health")] == [503, 200, 200]


def until(true):
    begin = time.monotonic()
    while not true():
        assert time.monotonic() - begin < 30
        time.sleep(0.01)


def halting(address, path, body, sent):
    """A request of which so much is sent → status, Retry-After, and what the answer says."""
    connection = HTTPConnection(urlsplit(address).netloc, timeout=30)
    try:
        connection.putrequest("POST", path)
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body[:sent])
        found = connection.getresponse()
        return found.status, found.headers["Retry-After"], json.load(found)
    finally:
        connection.close()


def test_what_is_not_answered_when_the_grace_is_over_is_told_to_come_again():
    """Waiting for a model, and still sending: neither is cut off without a word."""
    engine, body = KnownEngine("en", "de"), json.dumps(HELLO).encode()
    with (
        ThreadPoolExecutor() as pool,
        listening_server([engine], Settings(shutdown_grace=0.3)) as (address, service, server),
    ):
        engine.hold = True
        asked = [pool.submit(halting, address, "/translate", body, sent) for sent in (len(body), 5)]
        until(lambda: engine.asked and len(service.unanswered) == 2)
        server.should_exit = True
        told = [one.result() for one in asked]
    assert told == [(503, "5", {"error": "the server is ending, retry in 5 seconds"})] * 2
    assert engine.cancelled == 1
    said = service.metrics.text().decode()
    assert ('status="503"' in said, 'status="499"' in said, "regard_in_flight 0.0" in said) == (True, False, True)


def test_what_is_answered_within_the_grace_is_answered():
    engine, body = KnownEngine("en", "de"), json.dumps(HELLO).encode()
    engine.seconds = 0.5
    with ThreadPoolExecutor() as pool, listening_server([engine]) as (address, _, server):
        asked = pool.submit(halting, address, "/translate", body, len(body))
        until(lambda: engine.asked)
        server.should_exit = True
        assert asked.result() == (200, None, {"translatedText": "Hallo"})


@pytest.mark.parametrize(
    ("each", "pause", "status"),
    [(20_000, 0.1, 200), (20_000, 5.0, 408), (10, 0.1, 408)],
    ids=["as fast as it must be", "with a long pause", "drop by drop"],
)
def test_whoever_sends_fast_enough_may_send_for_longer_than_a_request_may_wait(each, pause, status):
    """Half a second is what it may wait: what comes takes longer."""
    body, sent = json.dumps({**HELLO, "q": "Hello".ljust(200_000)}).encode(), []

    async def run():
        service = made([KnownEngine("en", "de")], Settings(request_timeout=0.5, char_limit=-1))
        service.start()
        await service.started()
        pieces = [body[start : start + each] for start in range(0, len(body), each)]

        async def receive():
            await asyncio.sleep(pause)
            if not pieces:
                await asyncio.Event().wait()
            return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

        async def send(message):
            sent.append(message.get("status"))

        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        place = {"path": "/translate", "raw_path": b"/translate", "query_string": b"", "headers": headers}
        scope = {"type": "http", "method": "POST", "scheme": "http", "client": ("127.0.0.1", 1), **place}
        asking = asyncio.ensure_future(create_app(service)(scope, receive, send))
        while not sent:
            await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.wait([asking])
        await service.stop()

    asyncio.run(run())
    assert sent[0] == status


def test_a_disk_without_room_is_logged_and_told_as_what_it_is(monkeypatch, caplog):
    def full(*_):
        raise OSError(28, "No space left on device", "/tmp/secret")

    with served() as client:
        monkeypatch.setattr(client.app.service.downloads, "keep", full)
        file = {"file": ("hello.txt", b"Hello")}
        found = client.post("/translate_file", data={"source": "en", "target": "de"}, files=file)
    assert (found.status_code, found.headers["Retry-After"]) == (503, "5")
    assert found.json() == {"error": "the server cannot write its files now"}
    assert "No space left on device" in caplog.text


@pytest.mark.parametrize("prefix", ["", "/a/b", "a/"])
def test_the_image_asks_for_the_health_of_its_own_server(prefix):
    said = (Path(__file__).parents[3] / "Dockerfile").read_text("utf-8")
    [words] = re.findall(r"HEALTHCHECK .*? CMD (\[.*?\])\n", said.replace("\\\n", ""))
    _, *arguments = json.loads(words)
    settings = Settings(url_prefix=read_prefix("--url-prefix", prefix))
    with listening_server(settings=settings) as (address, *_):
        environment = {"LT_PORT": str(urlsplit(address).port), "LT_URL_PREFIX": prefix}
        assert subprocess.run([sys.executable, *arguments], env=environment, check=False).returncode == 0
    environment.pop("LT_URL_PREFIX")
    assert subprocess.run([sys.executable, *arguments], env=environment, check=False, stderr=-3).returncode != 0


def failures(engines, settings=None):
    """What a service tells of engines that it cannot serve."""
    told = []
    service = Service(settings or Settings(), Engines(engines), told.append)

    async def run():
        service.start()
        await service.started()
        await service.stop()

    asyncio.run(run())
    return told


class Broken(KnownEngine):
    """Cannot be loaded."""

    async def start(self) -> None:
        raise CheckpointError("runs/x", "is damaged")


@pytest.mark.parametrize(
    ("engines", "settings", "kind", "words"),
    [
        ([Broken("en", "de")], None, CheckpointError, "runs/x: is damaged"),
        ([KnownEngine("", "", "x")], None, ConfigError, "x: the languages of this run are unknown"),
        (pairs("en-de", "de-en"), Settings(load_only=("en", "fr")), RegardError, "--load-only: no run translates"),
    ],
)
def test_why_nothing_is_served(engines, settings, kind, words):
    [error] = failures(engines, settings)
    assert isinstance(error, kind)
    assert words in str(error)


def test_some_of_the_languages():
    engines = pairs("en-de", "de-en", "en-zh", "fr-en")
    with served(engines, Settings(load_only=("EN", "zh-Hans", "de"))) as client:
        assert [language["code"] for language in client.get("/languages").json()] == ["de", "en", "zh-Hans"]
        assert [engine.stopped for engine in engines] == [False, False, False, True]
        assert client.get("/readyz").status_code == 200


def test_a_crowd_is_turned_away_before_anything_is_read():
    """Only from what a model is needed for, and only while no model has room."""
    free, full = pairs("en-de", "de-en")
    full.busy = 7
    with served([free, full]) as client:
        assert client.post("/translate", data=HELLO).status_code == 200
        free.busy = 3
        found = [client.post(path, content=b"{") for path in ("/translate", "/translate_file", "/v1/explain")]
        assert {(one.status_code, one.headers["Retry-After"]) for one in found} == {(429, "3")}
        assert found[0].json() == {"error": "Slowdown: server busy, retry in 3 seconds"}
        assert found[0].headers["X-Content-Type-Options"] == "nosniff"
        assert client.post("/detect", data=HELLO).status_code == 200
        assert client.get("/languages").status_code == 200
        assert not free.asked[1:]


def measures(client, **headers):
    lines = client.get("/metrics", headers=headers).text.splitlines()
    return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))


def test_metrics():
    with served(settings=Settings(metrics=True)) as client:
        client.post("/translate", data=HELLO)
        client.post("/translate", data=HELLO)
        client.post("/translate", data={**HELLO, "source": "secret-text"})
        client.get("/secret-path")
        for engine in client.app.service.engines.values():
            engine.busy = 1
        client.post("/translate", data=HELLO)
        client.app.service.engines["en-de"].queue_size = 7
        found = measures(client)
    assert found['regard_requests_total{model="en-de",pair="en-de",route="/translate",status="200"}'] == "2.0"
    assert found['regard_requests_total{model="",pair="",route="/translate",status="400"}'] == "1.0"
    assert found['regard_requests_total{model="",pair="",route="other",status="404"}'] == "1.0"
    assert found['regard_requests_total{model="",pair="",route="/translate",status="429"}'] == "1.0"
    assert found['regard_request_seconds_count{model="en-de",route="/translate"}'] == "2.0"
    assert found['regard_request_seconds_count{model="",route="/translate"}'] == "2.0"
    assert found['regard_queue_size{model="en-de",pair="en-de"}'] == "7.0"
    assert found['regard_model_info{attention="dot",model="en-de",pair="en-de",sha="abc"}'] == "1.0"
    assert found["regard_in_flight"] == "1.0"  # this very question
    assert (found["regard_batch_items_sum"], found["regard_batch_tokens_count"]) == ("2.0", "2.0")
    assert (found["regard_queue_seconds_count"], found["regard_oom_total"]) == ("2.0", "0.0")
    assert not [name for name in found if "secret" in name or "Hello" in name or "127.0.0.1" in name]


def test_metrics_are_off_if_nothing_is_said_and_may_need_a_token():
    with served() as client:
        assert client.get("/metrics").status_code == 404
    with served(settings=Settings(metrics=True, metrics_auth_token="secret")) as client:
        for header in ({}, {"Authorization": "Bearer public"}, {"Authorization": "secret"}):
            found = client.get("/metrics", headers=header)
            assert (found.status_code, found.json()) == (401, {"error": "Unauthorized"})
        assert measures(client, Authorization="Bearer secret")
