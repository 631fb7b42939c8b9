"""Files: translated, kept for half an hour, and never anything else than them."""

import asyncio
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from known_engine import pairs, served

from regard.documents.files import base
from regard.serve import downloads as module
from regard.serve import translating
from regard.serve.downloads import Downloads, plain_name
from regard.serve.engine.faults import TooLate
from regard.serve.in_thread import ThreadSlots
from regard.serve.service import FILES
from regard.serve.settings import Settings

PAIR = {"source": "en", "target": "de"}


@pytest.fixture(scope="module")
def client():
    with served(pairs("en-de", "de-en", "fr-en"), Settings(max_file=1000)) as found:
        yield found


def ask(client, name="letter.txt", data=b"Hello\nWorld\n", **fields):
    return client.post("/translate_file", files={"file": (name, data)}, data={**PAIR, **fields})


def test_a_file_and_where_its_translation_is(client):
    url = ask(client).json()["translatedFileUrl"]
    assert url.startswith("http://127.0.0.1:5000/download_file/")
    found = client.get(url)
    assert found.content == b"Hallo\nWelt\n"
    assert found.headers["Content-Disposition"] == 'attachment; filename="letter_de.txt"'
    assert found.headers["Content-Type"] == "application/octet-stream"


@pytest.mark.parametrize("letter", ["漢", "é", "😀", "x"])
def test_a_name_as_long_as_a_file_system_takes_one(client, letter):
    """Which counts bytes, up to 255 of them."""
    found = ask(client, name=letter * (250 // len(letter.encode())) + ".txt")
    assert found.status_code == 200
    assert client.get(found.json()["translatedFileUrl"]).content == b"Hallo\nWelt\n"


@pytest.mark.parametrize("name", ["Übung.txt", "漢字.txt", "50 % off?.txt", "a#b.txt"])
def test_the_address_of_a_file_is_one_for_any_program(client, name):
    """Python's own refuses what is not ASCII."""
    url = ask(client, name=name).json()["translatedFileUrl"]
    assert url.isascii()
    assert re.fullmatch(r"http://[\w.:/%-]+", url)
    found = client.get(url)
    assert (found.status_code, found.content) == (200, b"Hallo\nWelt\n")


def test_what_became_of_the_terms_of_a_file(client):
    found = ask(client, data=b"Hello\nWorld\nHello\n", glossary="World\tErde\nHello\tHallo|Servus\nIBM").json()
    assert client.get(found.pop("translatedFileUrl")).content == b"Hallo\nWelt\nHallo\n"
    assert found["terms"] == [
        {"source": "Hello", "targets": ["Hallo", "Servus"], "found": 2, "used": 2},
        {"source": "World", "targets": ["Erde"], "found": 1, "used": 0},
    ]
    assert found["warnings"] == ["World: lacks World"]
    [*_, question] = client.app.service.engines["en-de"].asked
    assert question.glossary == ("World\tErde", "Hello\tHallo|Servus")


def test_numbers_of_a_file_are_kept_and_invented_ones_told(client, monkeypatch):
    engine = client.app.service.engines["en-de"]
    monkeypatch.setattr(engine, "say", lambda text, route: f"{text} x77")
    found = ask(client, data="It is -5 °C\n".encode()).json()
    assert client.get(found["translatedFileUrl"]).text.startswith("It is -5 °C x77")
    assert len(found["warnings"]) == 1 and "'x77'" in found["warnings"][0]
    answer = client.post("/translate", json={"q": ["It is $5", "World"], **PAIR}).json()
    assert answer["translatedText"] == ["It is $5 x77", "World x77"]
    assert ["'x77'" in one[0] for one in answer["warnings"]] == [True, True]
    found = client.post("/v1/translate", json={"q": "It is $5", **PAIR}).json()
    assert "'x77'" in found["texts"][0]["sentences"][0]["details"]["warning"]
    found = client.post("/v1/predict", json={"texts": ["It is -6 °C"], "model": "en-de"}).json()
    assert "'x77'" in found["predictions"][0]["details"]["warning"]


def test_of_a_file_without_terms_only_its_place_is_told(client):
    assert list(ask(client).json()) == ["translatedFileUrl"]
    assert list(ask(client, glossary=" \n").json()) == ["translatedFileUrl"]


def test_the_language_of_a_file_may_be_left_open(client):
    url = ask(client, data=b"Hallo", source="auto", target="en").json()["translatedFileUrl"]
    assert client.get(url).content == b"Hello"


def xliff(*languages):
    unit = '<body><trans-unit id="1"><source>Guten Morgen!</source></trans-unit></body>'
    files = [f'<file source-language="{one}" target-language="de">{unit}</file>' for one in languages]
    return f"<xliff version='1.2'>{''.join(files)}</xliff>".encode()


def test_the_language_that_a_file_names_counts(client):
    """The detector takes the text for German."""
    url = ask(client, "a.xlf", xliff("en-US"), source="auto").json()["translatedFileUrl"]
    assert ">de:Guten de:Morgen!</target>" in client.get(url).text
    mixed = ask(client, "a.xlf", xliff("en", "fr"), source="auto")
    assert (mixed.status_code, "from 'fr', not from 'en'" in mixed.json()["error"]) == (400, True)
    unserved = ask(client, "a.xlf", xliff("fr"), source="auto")
    assert unserved.json()["error"] == "German (de) is not available as a target language from French (fr)"


@pytest.mark.parametrize("name", ["letter.exe", "txt"])
def test_another_kind_of_file(client, name):
    found = ask(client, name=name)
    assert found.status_code == 400 and "not supported; served: " in found.json()["error"]
    assert all(suffix in found.json()["error"] for suffix in (".docx", ".po", ".txt"))


def test_a_file_in_the_language_already(client):
    url = ask(client, source="de", target="de").json()["translatedFileUrl"]
    assert client.get(url).content == b"Hello\nWorld\n"


REFUSED = [
    ({"data": b""}, "Invalid request: empty file"),
    (
        {"glossary": "Hello\t"},
        "Invalid request: glossary:1: the target is empty (source TAB target, or source = target, or CSV; "
        "source TAB target|other target; a source alone is copied)",
    ),
    ({"source": ""}, "Invalid request: missing source parameter"),
    ({"target": ""}, "Invalid request: missing target parameter"),
    ({"source": "zz"}, "zz is not supported"),
    ({"target": "auto"}, "auto is not supported"),
    ({"target": "fr"}, "French (fr) is not available as a target language from English (en)"),
]


@pytest.mark.parametrize(("change", "error"), REFUSED, ids=range(len(REFUSED)))
def test_refusals(client, change, error):
    found = ask(client, **change)
    assert (found.status_code, found.json()) == (400, {"error": error})


@pytest.mark.parametrize(
    "body", [{"json": PAIR}, {"data": PAIR}, {"files": {"source": (None, "en")}}, {"data": {**PAIR, "file": "x"}}]
)
def test_no_file(client, body):
    found = client.post("/translate_file", **body)
    assert (found.status_code, found.json()) == (400, {"error": "Invalid request: missing file parameter"})


def test_a_file_that_is_broken(client):
    found = ask(client, name="letter.docx", data=b"no archive")
    assert (found.status_code, found.json()["error"].startswith("Invalid request: ")) == (400, True)


def test_a_file_that_is_too_large(client):
    assert ask(client, data=b"Hello " * 20_000).status_code == 413


@pytest.mark.parametrize(("size", "status"), [(1000, 200), (1001, 413)])
def test_a_file_is_measured_without_the_form_around_it(client, size, status):
    found = ask(client, data=b"Hello".ljust(size))
    assert found.status_code == status
    assert status == 200 or found.json() == {"error": "the file has 1,001 bytes, more than the limit of 1,000"}


def test_a_page_by_its_short_name_says_its_language(client):
    url = ask(client, name="page.htm", data=b'<html lang="en">Hello').json()["translatedFileUrl"]
    assert client.get(url).content == b'<html lang="de">Hallo'


def test_a_file_with_too_much_in_it(client, monkeypatch):
    monkeypatch.setattr(base, "MOST_SENTENCES", 2)
    assert ask(client).status_code == 200
    found = ask(client, data=b"Hello\nWorld\nHello\n")
    assert (found.status_code, found.json()["error"].startswith("the file has more than 2 sentences")) == (413, True)


def test_a_file_that_takes_too_long(client):
    """It had ten times the time of a text: to send it again would not help, so nothing says so."""
    engine = client.app.service.engines["en-de"]
    engine.fault = TooLate()
    found = ask(client)
    engine.fault = None
    assert (found.status_code, "send it in parts" in found.json()["error"]) == (413, True)
    assert "Retry-After" not in found.headers


def test_only_so_many_files_are_read_at_a_time(monkeypatch):
    """One more is refused at once."""
    going, reading = threading.Event(), threading.Semaphore(0)
    read = translating.file_document

    def slow(*args, **kwargs):
        reading.release()
        assert going.wait(30)
        return read(*args, **kwargs)

    monkeypatch.setattr(translating, "file_document", slow)
    with served() as client, ThreadPoolExecutor(FILES) as pool:
        found = [pool.submit(ask, client) for _ in range(FILES)]
        for _ in found:
            assert reading.acquire(timeout=30)
        refused = ask(client)
        going.set()
        assert [each.result().status_code for each in found] == [200] * FILES
        assert (refused.status_code, refused.json()) == (429, {"error": "Slowdown: server busy, retry in 2 seconds"})
        assert ask(client).status_code == 200


def test_slot_is_free_once_its_thread_ended():
    """Cancelling the task does not stop its thread."""

    async def run():
        slots, going = ThreadSlots(1), threading.Event()
        task = asyncio.create_task(slots.work(going.wait, 30))
        while not slots.full:
            await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.wait([task])
        full = slots.full
        going.set()
        return full, await slots.work(len, "two"), slots.full

    assert asyncio.run(run()) == (True, 3, False)


def test_no_files():
    with served(settings=Settings(files_translation=False)) as client:
        told = {"error": "Files translation are disabled on this server."}
        for found in (ask(client), client.get("/download_file/" + "0" * 32 + ".a")):
            assert (found.status_code, found.json()) == (403, told)
        assert client.get("/frontend/settings").json()["supportedFilesFormat"] == []


@pytest.mark.parametrize(
    "name", ["a", "x" * 32 + ".a", "0" * 32, "0" * 32 + ".", "..%5c" + "0" * 32 + ".a", "0" * 32 + ".a%00"]
)
def test_names_that_are_none(client, name):
    found = client.get(f"/download_file/{name}")
    assert (found.status_code, found.json()) == (400, {"error": "Invalid filename"})


@pytest.mark.parametrize("name", ["0" * 32 + ".a", "../etc/passwd", "..%2f..%2fetc%2fpasswd"])
def test_files_that_are_none(client, name):
    assert client.get(f"/download_file/{name}").status_code == 404


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("letter.txt", "letter.txt"), ("a/b\\c.txt", "a_b_c.txt"), ("../../x.txt", "_.._x.txt"),
        ("a\r\nb: c.txt", "a_b_c.txt"),
        ("信.docx", "信.docx"), (".txt", "file.txt"), ("", "file"), ("x" * 500 + ".txt", "x" * 100 + ".txt"),
        ("漢" * 500 + ".txt", "漢" * 33 + ".txt"),
        ("$(rm).srt", "_rm_.srt"),
    ],
)  # fmt: skip
def test_names_mean_nothing(name, plain):
    assert plain_name(name) == plain


def test_a_file_is_gone_after_half_an_hour():
    now = [0.0]
    kept = Downloads(clock=lambda: now[0])
    path = kept.find(asyncio.run(kept.keep("a.txt", b"1")))
    now[0] = 1799.0
    later = asyncio.run(kept.keep("b.txt", b"2"))
    assert path.read_bytes() == b"1"
    now[0] = 1801.0
    assert (kept.find(path.name), path.exists(), kept.find(later).read_bytes()) == (None, False, b"2")
    kept.close()
    assert not path.parent.exists()


def test_a_file_is_written_beside_the_event_loop(monkeypatch):
    threads = []
    monkeypatch.setattr(Path, "write_bytes", lambda *_: threads.append(threading.current_thread()))
    kept = Downloads()
    asyncio.run(kept.keep("a.txt", b"1"))
    kept.close()
    assert threads and threads[0] is not threading.current_thread()


def test_the_oldest_make_room(monkeypatch):
    monkeypatch.setattr(module, "MAX_TOTAL", 10)
    kept = Downloads()
    names = [asyncio.run(kept.keep("a.txt", b"1234")) for _ in range(4)]
    assert [kept.find(name) is not None for name in names] == [False, False, True, True]
    kept.close()
