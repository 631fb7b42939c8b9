"""DeepL's documents with the package `deepl` unchanged from PyPI: a queue, limits, keys, and deletion."""

import asyncio
import io
import json
import time

import deepl
import pytest
from known_engine import listening_server, pairs, served
from office_files import pptx

from regard.serve import service as service_module
from regard.serve.documents import MOST_OF_CLIENT, Documents, WrittenDocument
from regard.serve.downloads import KEPT_SECONDS, Downloads
from regard.serve.engine.faults import Busy, NotReady, ServingError
from regard.serve.errors import ApiError
from regard.serve.security import Keys
from regard.serve.settings import Settings

FORM = {"target_lang": "DE", "source_lang": "EN"}


@pytest.fixture(scope="module")
def address():
    with listening_server(pairs("en-de"), Settings(keys=Keys(["secret"]))) as (found, *_):
        yield found


@pytest.fixture
def client():
    with served(pairs("en-de", "de-en"), Settings(keys=Keys(["one", "two"]), max_file=5_000)) as found:
        yield found


def upload(client, data=b"Hello\nWorld\n", name="letter.txt", key="one", **fields):
    headers = {"Authorization": f"DeepL-Auth-Key {key}"}
    return client.post("/v2/document", files={"file": (name, data)}, data={**FORM, **fields}, headers=headers)


def ask(client, handle, path="", key="one", secret=None):
    given = {"document_key": secret or handle["document_key"]}
    headers = {"Authorization": f"DeepL-Auth-Key {key}"}
    return client.post(f"/v2/document/{handle['document_id']}{path}", json=given, headers=headers)


def until(true):
    for _ in range(500):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError


def done(client, handle):
    for _ in range(200):
        found = ask(client, handle).json()
        if found["status"] in ("done", "error"):
            return found
        time.sleep(0.01)
    raise AssertionError(found)


# --- the package


def test_the_package_translates_documents(address, monkeypatch):
    sleep = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: sleep(min(seconds, 0.02)))  # it asks every five seconds
    client, found = deepl.DeepLClient("secret", server_url=address), io.BytesIO()
    status = client.translate_document("Hello\nWorld\n", found, target_lang="DE", filename="letter.txt")
    assert (status.done, status.billed_characters, found.getvalue()) == (True, 10, b"Hallo\nWelt\n")
    terms = client.create_glossary("ours", "EN", "DE", {"World": "Welt"})
    slides, found = pptx("<a:p><a:r><a:t>Hello</a:t></a:r></a:p>"), io.BytesIO()
    options = {"source_lang": "EN", "target_lang": "DE", "glossary": terms, "formality": "more"}
    client.translate_document(slides, found, filename="a.pptx", **options)
    assert found.getvalue().startswith(b"PK")
    with pytest.raises(deepl.DeepLException, match="file format not supported"):
        client.translate_document(b"x", io.BytesIO(), target_lang="DE", filename="a.exe")


def test_the_package_translates_files_by_path(address, tmp_path, monkeypatch):
    sleep = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: sleep(min(seconds, 0.02)))
    (tmp_path / "in.md").write_text("# Hello\n")
    client = deepl.Translator("secret", server_url=address)
    client.translate_document_from_filepath(tmp_path / "in.md", tmp_path / "out.md", target_lang="DE")
    assert (tmp_path / "out.md").read_text() == "# Hallo\n"


# --- the requests


def test_a_translation_is_fetched_once(client):
    handle = upload(client).json()
    assert done(client, handle) == {"document_id": handle["document_id"], "status": "done", "billed_characters": 10}
    found = ask(client, handle, "/result")
    assert (found.content, found.headers["Content-Type"]) == (b"Hallo\nWelt\n", "application/octet-stream")
    assert [ask(client, handle, path).status_code for path in ("", "/result")] == [404, 404]


def test_a_translation_stays_until_it_was_sent_whole(client):
    handle = upload(client).json()
    done(client, handle)
    body = json.dumps({"document_key": handle["document_key"]}).encode()
    headers = {"host": "127.0.0.1:5000", "content-type": "application/json", "authorization": "DeepL-Auth-Key one"}
    path = f"/v2/document/{handle['document_id']}/result"
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "client": ("10.0.0.1", 1)}
    scope |= {"headers": [(name.encode(), value.encode()) for name, value in headers.items()], "scheme": "http"}
    statuses = []

    async def broken():
        given = iter([{"type": "http.request", "body": body, "more_body": False}])
        begun = asyncio.Event()

        async def receive():
            if (message := next(given, None)) is not None:
                return message
            await begun.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            statuses.append(message["status"])
            begun.set()
            await asyncio.Event().wait()

        await client.app(scope, receive, send)

    client.portal.call(broken)
    assert statuses == [200]
    assert ask(client, handle, "/result").content == b"Hallo\nWelt\n"


def test_a_document_belongs_to_its_key(client):
    handle = upload(client).json()
    done(client, handle)
    refused = [ask(client, handle, "/result", key="two"), ask(client, handle, "/result", secret="x")]
    assert [(one.status_code, one.json()) for one in refused] == [(404, {"message": "Document not found"})] * 2
    assert ask(client, handle, "/result", key="bad").status_code == 403
    assert ask(client, handle, "/result").status_code == 200


REFUSED = [
    ({"data": b"a" * 5_001}, 413),
    ({"data": b""}, 400),
    ({"name": "a.exe"}, 400),
    ({"name": "a.docx"}, 400),
    ({"output_format": "pdf"}, 400),
    ({"target_lang": "FR"}, 400),
    ({"glossary_id": "none"}, 404),
    ({"key": "bad"}, 403),
]


@pytest.mark.parametrize(("change", "status"), REFUSED, ids=range(len(REFUSED)))
def test_uploads_are_refused_at_once(client, change, status):
    found = upload(client, **change)
    assert (found.status_code, list(found.json())) == (status, ["message"])


def test_a_failed_translation_has_a_message(client):
    client.app.service.engines["en-de"].fault = ServingError("out of order")
    found = done(client, handle := upload(client).json())
    assert (found["status"], "out of order" in found["error_message"]) == ("error", True)
    assert ask(client, handle, "/result").status_code == 404


def test_a_document_waits_for_a_busy_model(client):
    engine = client.app.service.engines["en-de"]
    engine.fault = Busy(0)
    handle = upload(client).json()
    assert ask(client, handle).json()["status"] in ("queued", "translating")
    unready = ask(client, handle, "/result")
    assert (unready.status_code, "Retry-After" in unready.headers) == (503, True)
    engine.fault = None
    assert done(client, handle)["status"] == "done"


# --- another version of a model


def test_documents_outlive_a_swap(monkeypatch):
    """The running one on its model, which ends after it, the waiting ones on the new model."""
    monkeypatch.setattr(service_module, "CHECK_SECONDS", 0.001)
    [old], [fresh] = pairs("en-de"), pairs("en-de")
    old.next, old.held = fresh, asyncio.Event()
    with served([old], Settings(keys=Keys(["one"]))) as client:
        handles = [upload(client).json() for _ in range(3)]
        until(lambda: old.asked)
        client.portal.call(client.app.service.reload)
        time.sleep(0.05)
        assert not old.stopped
        client.portal.call(old.held.set)
        assert [done(client, one)["status"] for one in handles] == ["done"] * 3
        assert (len(old.asked), len(fresh.asked)) == (1, 2)
        until(lambda: old.stopped)


def test_a_document_waits_for_a_model_that_is_not_ready():
    [old], [fresh] = pairs("en-de"), pairs("en-de")
    old.next, old.fault = fresh, NotReady(0)
    with served([old], Settings(keys=Keys(["one"]))) as client:
        handle = upload(client).json()
        until(lambda: old.asked)
        assert ask(client, handle).json()["status"] == "translating"
        client.portal.call(client.app.service.reload)
        assert done(client, handle)["status"] == "done"


def test_disabled_files_are_refused():
    with served(pairs("en-de"), Settings(files_translation=False)) as client:
        assert upload(client).status_code == 403


# --- the queue


def test_clients_without_keys_are_told_apart_by_address():
    [engine] = pairs("en-de")
    engine.hold = True
    with served([engine]) as client:
        statuses = [upload(client, key="").status_code for _ in range(MOST_OF_CLIENT + 1)]
        client._transport.client = ("10.0.0.2", 1)
        assert (statuses, upload(client, key="").status_code) == ([*[200] * MOST_OF_CLIENT, 429], 200)


def test_documents_take_turns_and_expire():
    async def check():
        now, order, gate = [0.0], [], asyncio.Event()
        downloads = Downloads(clock=lambda: now[0])
        documents = Documents(downloads, clock=lambda: now[0])

        async def work(number):
            order.append(number)
            await gate.wait()
            return WrittenDocument(b"x")

        made = [
            documents.add("me", "me", "a.txt", 1, lambda number=number: work(number))
            for number in range(MOST_OF_CLIENT)
        ]
        await asyncio.sleep(0)
        assert [one.status for one in made] == ["translating", *["queued"] * (MOST_OF_CLIENT - 1)]
        documents.check_room("another")
        with pytest.raises(ApiError, match="wait at a time"):
            documents.check_room("me")
        with pytest.raises(ApiError, match="wait at a time"):
            documents.add("me", "me", "a.txt", 1, lambda: work(9))
        gate.set()
        await asyncio.gather(*(one.task for one in made))
        documents.check_room("me")
        assert order == [*range(MOST_OF_CLIENT)]
        now[0] = KEPT_SECONDS + 1
        with pytest.raises(ApiError, match="not found"):
            documents.find("me", made[0].id, made[0].key)
        assert downloads.find(made[0].kept) is None
        gate.clear()
        left = documents.add("me", "me", "a.txt", 1, lambda: work(9))
        await documents.stop()
        assert left.task.cancelled()
        downloads.close()

    asyncio.run(check())
