"""What is read of a request, how much of it, and what is no request at all."""

import asyncio
import json
from threading import current_thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known_engine import KnownEngine, made, served
from questions import HELLO

from regard.serve import app
from regard.serve.api import request_body
from regard.serve.api.request_body import read_json
from regard.serve.app import create_app
from regard.serve.errors import ApiError
from regard.serve.security import Keys
from regard.serve.settings import Settings

JSON = {"Content-Type": "application/json"}
SMALL = Settings(max_body=1000, max_file=2000, request_timeout=0.3)


@pytest.fixture(scope="module")
def client():
    with served() as found:
        yield found


NO_JSON = {
    "list": b"[]",
    "text": b'"q"',
    "null": b"null",
    "empty": b"",
    "cut": b'{"q": "Hel',
    "deep": b"[" * 100_000,
    "deep value": b'{"q": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "digits": b'{"q": "a", "alternatives": ' + b"9" * 5000 + b"}",
    "NaN": b'{"q": "Hello", "source": "en", "target": "de", "alternatives": NaN}',
    "Infinity": b'{"q": "Hello", "source": "en", "target": "de", "alternatives": -Infinity}',
    "1e999": b'{"q": "Hello", "source": "en", "target": "de", "alternatives": 1e999}',
    "twice": b'{"q": "Hello", "source": "en", "target": "de", "target": "fr"}',
    "twice inside": b'{"q": "Hello", "source": "en", "target": "de", "x": {"a": 1, "a": 2}}',
    "latin-1": '{"q": "Grüße", "source": "en", "target": "de"}'.encode("latin-1"),
    "utf-16": '{"q": "Hello", "source": "en", "target": "de"}'.encode("utf-16"),
}


@pytest.mark.parametrize(
    "path", ["/translate", "/detect", "/suggest", "/v1/translate", "/v1/explain", "/v1/alternatives"]
)
@pytest.mark.parametrize("body", NO_JSON.values(), ids=NO_JSON)
def test_no_json_object(client, path, body):
    found = client.post(path, content=body, headers=JSON)
    assert (found.status_code, found.json()) == (400, {"error": "Invalid JSON format"})


@pytest.mark.parametrize("path", ["/translate", "/v1/translate"])
def test_half_of_a_surrogate_pair(client, path):
    body = json.dumps({**HELLO, "q": "Hello \ud800"}).encode()
    found = client.post(path, content=body, headers=JSON)
    assert (found.status_code, found.json()["error"]) == (400, INVALID_UNICODE)


INVALID_UNICODE = "Invalid request: the text is not valid Unicode (lone surrogate)"


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON", "application/problem+json"])
def test_kinds_of_json(client, kind):
    body = "\ufeff" + json.dumps(HELLO)  # a byte order mark is no fault
    assert client.post("/translate", content=body.encode(), headers={"Content-Type": kind}).status_code == 200


def test_form_that_is_not_utf_8(client):
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    found = client.post("/translate", content=b"q=%FF%FE&source=en&target=de", headers=kind)
    assert (found.status_code, list(found.json())) == (400, ["error"])


def test_too_many_fields(client):
    found = client.post("/translate", data={f"f{number}": "x" for number in range(200)})
    assert (found.status_code, list(found.json())) == (400, ["error"])


@pytest.mark.parametrize("body", [b"", b"--x", b"--x\r\n\r\n", b"nothing"])
def test_multipart_that_is_broken(client, body):
    found = client.post("/translate", content=body, headers={"Content-Type": "multipart/form-data; boundary=x"})
    assert (found.status_code, list(found.json())) == (400, ["error"])


def test_multipart_without_a_boundary(client):
    found = client.post("/translate", content=b"x", headers={"Content-Type": "multipart/form-data"})
    assert (found.status_code, list(found.json())) == (400, ["error"])


@pytest.mark.parametrize("path", ["/translate", "/translate_file"])
@pytest.mark.parametrize("charset", ["undefined", "punycode", "idna", "utf-16", "rot13", "nothing", "\0"])
def test_multipart_in_a_strange_encoding(client, path, charset):
    """Some that Python knows fail in ways of their own."""
    part = b'--x\r\nContent-Disposition: form-data; name="q"\r\n\r\n\xff\r\n--x--\r\n'
    kind = {"Content-Type": f"multipart/form-data; boundary=x; charset={charset}"}
    found = client.post(path, content=part, headers=kind)
    assert (found.status_code, list(found.json())) == (400, ["error"])


def test_the_query_goes_before_the_form_and_the_first_value_before_the_second(client):
    found = client.post("/translate?q=Hello&q=World&source=en", data={"q": "other", "target": "de"})
    assert found.json() == {"translatedText": "Hallo"}


def test_a_body_of_another_kind_is_not_read(client):
    found = client.post("/translate", content=json.dumps(HELLO).encode(), headers={"Content-Type": "text/plain"})
    assert found.json() == {"error": "Invalid request: missing q parameter"}


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate, gzip", "GZIP"])
def test_compressed_requests_are_not_read(client, encoding):
    found = client.post("/translate", content=b"x", headers={**JSON, "Content-Encoding": encoding})
    assert (found.status_code, found.json()) == (415, {"error": "compressed requests are not read"})


def chunks(size: int):
    yield b'{"q": "'
    for _ in range(size // 100):
        yield b"x" * 100
    yield b'", "source": "en", "target": "de"}'


def test_too_large_a_body(monkeypatch):
    monkeypatch.setattr(app, "DISCARD_SECONDS", 0.05)
    with served(settings=SMALL) as client:
        told = client.post("/translate", content=b"".join(chunks(1000)), headers=JSON)
        streamed = client.post("/translate", content=chunks(1000), headers=JSON)
        fits = client.post("/translate", content=chunks(900), headers=JSON)
    error = {"error": "the request has more than the limit of 1,000 bytes"}
    assert [(found.status_code, found.json()) for found in (told, streamed)] == [(413, error)] * 2
    assert told.headers["Connection"] == "close"
    assert fits.status_code == 200


def test_json_is_no_file(monkeypatch):
    """Where files are taken a form may be as large as a file is; JSON may not."""
    monkeypatch.setattr(app, "DISCARD_SECONDS", 0.05)
    with served(settings=SMALL) as client:
        assert client.post("/translate_file", content=chunks(1500), headers=JSON).status_code == 413
        found = client.post("/translate_file", files={"file": ("a.txt", b"Hello " * 300)}, data=HELLO)
        assert found.status_code == 200


@pytest.mark.parametrize("path", ["/translate", "/v1/translate"])
def test_large_json_is_not_read_where_all_requests_pass(monkeypatch, path):
    threads = []
    read = request_body.read_json
    monkeypatch.setattr(request_body, "read_json", lambda body: (threads.append(current_thread()), read(body))[1])
    with served() as client:
        loop = client.portal.call(current_thread)
        for size in (1, 20_000):
            assert client.post(path, json={**HELLO, "q": ["Hello"] * size}).status_code == (200 if size == 1 else 400)
    assert [thread is loop for thread in threads] == [True, False]


@pytest.mark.parametrize("path", ["/translate", "/v1/translate", "/translate_file", "/detect", "/suggest"])
def test_nothing_is_read_for_a_key_that_is_wrong(path):
    """Where it stands in the head of a request."""
    with served(settings=Settings(keys=Keys(["secret"]))) as client:
        found = client.post(path, content=b"no JSON", headers={**JSON, "Authorization": "Bearer public"})
        assert (found.status_code, found.json()) == (403, {"error": "Invalid API key"})
        found = client.post(path, content=b"no JSON", headers={**JSON, "Authorization": "Bearer secret"})
        assert found.status_code == 400


def scope(path: str = "/translate", **headers: str) -> dict:
    named = {"host": "127.0.0.1", "content-type": "application/json", **headers}
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in named.items()]
    return {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
        "root_path": "", "scheme": "http", "headers": raw, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 5000),
        "http_version": "1.1", "asgi": {"version": "3.0"},
    }  # fmt: skip


async def started(engine: KnownEngine, limits: Settings = SMALL):
    service = made([engine], limits)
    service.start()
    await service.started()
    return service, create_app(service)


def test_nothing_is_read_of_a_body_that_says_it_is_too_large():
    """The refusal is sent before the first piece is asked for."""
    order = []

    async def receive():
        order.append("read")
        return {"type": "http.disconnect"}

    async def send(message):
        order.append(message.get("status", "sent"))

    async def run():
        service, app = await started(KnownEngine("en", "de"))
        await app(scope(content_length="99999999999"), receive, send)
        await service.stop()

    asyncio.run(run())
    assert order == [413, "sent", "read", "sent"]


def test_a_body_that_comes_too_slowly():
    statuses = []

    async def never():
        await asyncio.Event().wait()

    async def send(message):
        statuses.append(message.get("status"))

    async def run():
        service, app = await started(KnownEngine("en", "de"))
        task = asyncio.create_task(app(scope(), never, send))
        await asyncio.sleep(0.5)
        task.cancel()
        await asyncio.wait([task])
        await service.stop()

    asyncio.run(run())
    assert statuses[0] == 408


@pytest.mark.parametrize("half", [True, False], ids=["while it sends", "while it waits"])
def test_a_client_that_leaves_is_not_worked_for(half):
    engine, sent = KnownEngine("en", "de"), []

    async def run():
        service, app = await started(engine)
        engine.held = asyncio.Event()
        body = json.dumps(HELLO).encode()
        messages = [{"type": "http.request", "body": body[:5] if half else body, "more_body": half}]

        async def receive():
            if messages:
                return messages.pop()
            while not (half or engine.asked):
                await asyncio.sleep(0.001)
            return {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        await asyncio.wait_for(app(scope(), receive, send), 5)
        measured = service.metrics.text().decode()
        await service.stop()
        return measured

    measured = asyncio.run(run())
    assert (engine.cancelled, sent) == (0 if half else 1, [])
    assert 'status="499"' in measured
    assert "regard_in_flight 0.0" in measured


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=8), values, max_size=5))
def test_what_json_writes_is_read(value):
    assert read_json(json.dumps(value, ensure_ascii=False).encode()) == json.loads(json.dumps(value))


@settings(max_examples=300)
@given(st.binary(max_size=200) | st.text(alphabet='{}[]",:0123456789eE+-.\\u truefalsn', max_size=60).map(str.encode))
def test_what_is_not_json_is_refused_and_nothing_else_happens(body):
    try:
        assert isinstance(read_json(body), dict)
    except ApiError as error:
        assert error.status == 400  # either is right
