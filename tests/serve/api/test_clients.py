"""Over a real connection: the clients that people have, and some that nobody wants."""

import json
import socket
import time
from contextlib import suppress
from http.client import HTTPConnection
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from known_engine import KnownEngine, listening_server, pairs
from libretranslatepy import LibreTranslateAPI
from questions import HELLO

from regard.serve import server
from regard.serve.security import Keys
from regard.serve.settings import Settings


@pytest.fixture(scope="module")
def address():
    with listening_server(pairs("en-de", "de-en", "en-zh"), Settings(max_body=100_000)) as (found, *_):
        yield found


def test_libretranslatepy(address):
    """Unchanged from PyPI: languages, detect, and translate in every pair."""
    client = LibreTranslateAPI(address)
    languages = client.languages()
    assert {language["code"]: language["targets"] for language in languages} == {
        "de": ["en"], "en": ["de", "zh-Hans"], "zh-Hans": []
    }  # fmt: skip
    assert client.detect("hallo") == [{"confidence": 90.0, "language": "de"}]
    said = [client.translate("two", one["code"], target) for one in languages for target in one["targets"]]
    assert said == ["en:two", "de:two", "zh:two"]
    assert client.translate("Guten Morgen!", "auto", "en") == "Good morning!"


def test_libretranslatepy_with_a_key():
    with listening_server(settings=Settings(keys=Keys(["secret"]))) as (address, *_):
        assert LibreTranslateAPI(address, "secret").translate("Hello", "en", "de") == "Hallo"
        assert len(LibreTranslateAPI(address).languages()) == 2
        with pytest.raises(HTTPError) as refused:
            LibreTranslateAPI(address, "public").translate("Hello", "en", "de")
        assert (refused.value.code, json.load(refused.value)) == (403, {"error": "Invalid API key"})


def test_as_mastodon_asks(address):
    """JSON, the language left open, HTML, and a key that is null."""
    question = {"q": ["<p>Hello</p>", "World"], "source": "auto", "target": "de", "format": "html", "api_key": None}
    request = Request(f"{address}translate", json.dumps(question).encode(), {"Content-Type": "application/json"})
    with urlopen(request) as answer:
        found = json.load(answer)
    assert found["translatedText"] == ["<p>Hallo</p>", "Welt"]
    assert [guess["language"] for guess in found["detectedLanguage"]] == ["en", "en"]


def test_as_weblate_asks(address):
    """A key that is empty, twenty texts, and syntax as placeholders that must come back."""
    with urlopen(Request(f"{address}languages", headers={"Accept": "application/json; charset=utf-8"})) as answer:
        assert {one["code"] for one in json.load(answer)} >= {"de", "en"}
    question = {"api_key": "", "q": ["Hello [X6X] and [X11X]", *["World"] * 19], "source": "en", "target": "de"}
    request = Request(f"{address}translate", json.dumps(question).encode(), {"Content-Type": "application/json"})
    with urlopen(request) as answer:
        first, *rest = json.load(answer)["translatedText"]
    assert ([word for word in first.split() if "X" in word], rest) == (["[X6X]", "[X11X]"], ["Welt"] * 19)


def test_who_sends_too_much_sees_why(address):
    """Not a connection that breaks while it is still sending."""
    request = Request(f"{address}translate", b"x" * 3_000_000, {"Content-Type": "application/json"})
    with pytest.raises(HTTPError) as refused:
        urlopen(request)
    assert (refused.value.code, list(json.load(refused.value))) == (413, ["error"])


def connected(address: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(address.rsplit(":", maxsplit=1)[-1].strip("/"))))


def request_bytes() -> bytes:
    body = json.dumps(HELLO).encode()
    head = ["POST /translate HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    return "\r\n".join([*head, f"Content-Length: {len(body)}", "", ""]).encode() + body


def until(true, seconds: float = 10.0) -> bool:
    begin = time.monotonic()
    while not true() and time.monotonic() - begin < seconds:
        time.sleep(0.01)
    return true()


def test_a_client_that_hangs_up_is_not_worked_for():
    engine = KnownEngine("en", "de")
    with listening_server([engine]) as (address, service, _):
        engine.hold = True
        with connected(address) as client:
            client.sendall(request_bytes())
            assert until(lambda: engine.asked)
        assert until(lambda: engine.cancelled == 1)
        assert until(lambda: b'status="499"' in service.metrics.text())
        assert until(lambda: b"regard_in_flight 0.0" in service.metrics.text())


@pytest.mark.parametrize(
    "noise", [b"\x00\x01\x02\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /\r\n\r\n", b"A" * 200_000]
)
def test_what_is_no_request(address, noise):
    with connected(address) as client:
        client.settimeout(10)
        try:
            client.sendall(noise)
            answer = client.recv(100)
        except ConnectionError:
            answer = b""
    assert not answer or answer.startswith(b"HTTP/1.1 4")


@pytest.mark.parametrize("start", [b"", b"POST /trans", b"POST /translate HTTP/1.1\r\nHost: localhost\r\n"])
def test_a_connection_that_says_nothing_is_closed(monkeypatch, start):
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.2)
    with listening_server() as (address, *_), connected(address) as client:
        client.settimeout(10)
        client.sendall(start)
        assert client.recv(100) == b""


HEADS = {
    "address": (b"GET /", b"x"),
    "header": (b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", b"x"),
    "headers": (b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"X: y\r\n"),
}


@pytest.mark.parametrize("pieces", [1, 50])
@pytest.mark.parametrize("kind", HEADS)
def test_a_head_that_does_not_end(kind, pieces):
    """It is refused once it is too large, long before its time is over."""
    start, more = HEADS[kind]
    more *= 40_000 // len(more)
    with listening_server() as (address, *_), connected(address) as client:
        client.settimeout(server.HEAD_SECONDS / 2)
        answer = b""
        with suppress(ConnectionError):  # closed while there is something left to send
            client.sendall(start)
            for piece in range(pieces):
                client.sendall(more[piece * len(more) // pieces : (piece + 1) * len(more) // pieces])
            while part := client.recv(1000):
                answer += part
    assert not answer or answer.startswith(b"HTTP/1.1 400")


def test_a_large_head_that_ends(address):
    start, more = HEADS["headers"]
    with connected(address) as client:
        client.settimeout(10)
        client.sendall(start + more * (30_000 // len(more)) + b"\r\n")
        assert client.recv(15) == b"HTTP/1.1 200 OK"


def test_a_second_request_that_does_not_come_whole(monkeypatch):
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.2)
    with listening_server() as (address, *_), connected(address) as client:
        client.settimeout(10)
        client.sendall(request_bytes())
        while b"Hallo" not in client.recv(10_000):
            pass
        client.sendall(b"POST")
        assert client.recv(100) == b""


def test_an_answer_may_take_longer_than_a_head(monkeypatch):
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.1)
    engine = KnownEngine("en", "de")
    engine.seconds = 0.4
    with listening_server([engine]) as (address, *_):
        assert LibreTranslateAPI(address).translate("Hello", "en", "de") == "Hallo"


def test_a_request_on_its_way_at_the_end_is_answered():
    """On a connection that was idle: with 503, since nothing new is begun."""
    with listening_server() as (address, service, server):
        connection = HTTPConnection(address.split("/")[2])
        connection.request("GET", "/health")
        assert connection.getresponse().read()
        service.draining = server.should_exit = True
        assert until(lambda: not server.servers[0].is_serving())
        connection.request("POST", "/translate", json.dumps(HELLO), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Connection"]) == (503, "close")
        connection.close()


def test_several_requests_on_one_connection(address):
    connection = HTTPConnection(address.split("/")[2])
    said = []
    for text in ("Hello", "World", "Hello"):
        connection.request("POST", "/translate", json.dumps({**HELLO, "q": text}), {"Content-Type": "application/json"})
        said.append(json.load(connection.getresponse())["translatedText"])
    connection.close()
    assert said == ["Hallo", "Welt", "Hallo"]
