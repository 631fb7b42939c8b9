"""regard data get: an archive from a server on this machine becomes train, dev and test texts."""

import gzip
import io
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from zipfile import ZipFile

import pytest
from typer.testing import CliRunner

from regard.cli.app import app
from regard.recipes import download

PAIRS = [(f"sentence {n // 2}", f"frase {n}") for n in range(400)] + [("", "sola"), ("alone", " ")]


def archive_of(pairs, names=("Tatoeba.en-es.en", "Tatoeba.en-es.es")) -> bytes:
    data = io.BytesIO()
    with ZipFile(data, "w") as packed:
        packed.writestr("README", "about")
        for name, side in zip(names, zip(*pairs, strict=True), strict=True):
            packed.writestr(name, "".join(f"{text}\n" for text in side))
    return data.getvalue()


@pytest.fixture
def opus(monkeypatch):
    """Answers of a server by path: bytes, or bytes of which the second half never comes."""
    answers, asked = {}, []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            data, sent = answers.get(self.path, (None, 0))
            self.send_response(404 if data is None else 200)
            self.send_header("Content-Length", str(len(data or b"")))
            self.end_headers()
            self.wfile.write((data or b"")[:sent])

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setattr(download, "ADDRESS", f"http://127.0.0.1:{server.server_port}")
    server.answers, server.asked = answers, asked
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def get(folder, *words):
    return CliRunner().invoke(app, ["data", "get", *words, "--to", str(folder)])


def sides(folder, part):
    names = [folder / f"{part}.{code}.gz" for code in ("es", "en")]
    return [gzip.decompress(name.read_bytes()).decode().splitlines() for name in names]


def test_parts_share_no_sentence_with_train(opus, tmp_path):
    data = archive_of(PAIRS)
    opus.answers["/OPUS-Tatoeba/v2023-04-12/moses/en-es.txt.zip"] = data, len(data)
    done = get(tmp_path, "tatoeba", "es-en")
    assert done.exit_code == 0, done.stderr
    found = {part: sides(tmp_path / "tatoeba_es-en", part) for part in ("train", "dev", "test")}
    held = Counter(zip(*found["dev"], strict=True)) + Counter(zip(*found["test"], strict=True))
    assert len(held) == 2 * 20
    everything = {(target, source) for source, target in PAIRS if source.strip() and target.strip()}
    blocked = {english for _, english in held}
    assert set(held) <= everything
    assert Counter(zip(*found["train"], strict=True)) == Counter(each for each in everything if each[1] not in blocked)
    assert f"{len(found['train'][0]):,} train, 20 dev, 20 test pairs" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tatoeba_es-en"]


def test_an_archive_needs_no_network(tmp_path):
    (tmp_path / "a.zip").write_bytes(archive_of(PAIRS))
    for folder in ("one", "two"):
        assert get(tmp_path / folder, "tatoeba", "en-es", "--archive", str(tmp_path / "a.zip")).exit_code == 0
    first, second = (sorted((tmp_path / name / "tatoeba_en-es").iterdir()) for name in ("one", "two"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert (tmp_path / "a.zip").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["tatoba", "en-es"], "did you mean 'tatoeba'"),
        (["tatoeba", "english-spanish"], "two codes with a hyphen"),
        (["tatoeba", "en-en"], "two codes with a hyphen"),
        (["tatoeba", "en-xx"], "'xx' is not a language code"),
        (["tatoeba", "en-vo"], "is not there (HTTP status 404)"),
        (["tatoeba", "en-es", "--archive", "missing.zip"], "there is no such file"),
    ],
)
def test_a_wrong_request_is_one_line(opus, tmp_path, words, told):
    done = get(tmp_path, *words)
    assert done.exit_code == 2
    assert told in done.stderr.splitlines()[-1]
    assert not list(tmp_path.iterdir())
    assert bool(opus.asked) is ("en-vo" in words)  # nothing is fetched before the request is checked


def test_a_download_that_breaks_off_leaves_nothing(opus, tmp_path):
    data = archive_of(PAIRS)
    opus.answers["/OPUS-Tatoeba/v2023-04-12/moses/en-es.txt.zip"] = data, len(data) // 2
    done = get(tmp_path, "tatoeba", "en-es")
    assert done.exit_code == 2
    assert "broke off" in done.stderr
    assert not list(tmp_path.iterdir())


def test_no_network_tells_another_way(monkeypatch, tmp_path):
    monkeypatch.setattr(download, "ADDRESS", "http://127.0.0.1:9")
    done = get(tmp_path, "tatoeba", "en-es")
    assert done.exit_code == 2
    assert "--archive FILE.zip" in done.stderr


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"no archive", "is not a zip archive"),
        (archive_of(PAIRS)[:-400], "is not a zip archive"),
        (archive_of(PAIRS, ("a.en", "a.de")), "has no text in es"),
        (archive_of(PAIRS[:19]), "are too few"),
    ],
)
def test_a_wrong_archive_is_one_line(tmp_path, data, told):
    (tmp_path / "a.zip").write_bytes(data)
    done = get(tmp_path / "to", "tatoeba", "en-es", "--archive", str(tmp_path / "a.zip"))
    assert done.exit_code == 2
    assert told in done.stderr
    assert not list((tmp_path / "to").iterdir())


def test_sides_of_different_length_are_told(tmp_path):
    with ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.writestr("a.en", "one\ntwo\n")
        packed.writestr("a.es", "uno\n")
    done = get(tmp_path / "to", "tatoeba", "en-es", "--archive", str(tmp_path / "a.zip"))
    assert done.exit_code == 2
    assert "a.zip:2: one language has fewer lines" in done.stderr
