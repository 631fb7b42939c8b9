"""regard-runtime's commands and its server."""

import http.client
import io
import json
import socket
import threading
from types import SimpleNamespace

import pytest

from regard.runtime import __main__ as commands
from regard.runtime.engine import SearchRules
from regard.runtime.server import MOST_TEXTS, Server
from regard.runtime.translator import Forced, Translation

RULES = SearchRules(4, 1.0, False, "exact", 0, "end", 2.0, 10)


class Upper:
    """Translates by capital letters."""

    rules = RULES

    def __init__(self, folder=None, **settings):
        self.settings = settings

    def translate(self, texts):
        if "fault" in texts:
            raise ValueError("text 1: too long")
        return [text.upper() for text in texts]

    def translations(self, texts, n_best=1, *, first=1):
        kept = range(n_best)
        return [[Translation(text.upper(), -float(one), True) for one in kept] if text else [] for text in texts]

    def forced(self, source, target, number=1):
        return Forced([source, "</s>"], [target, "</s>"], [-1.0, -0.5], [[1.0, 0.0], [0.0, 1.0]])


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command on an input; return what it prints, and its exit code."""
    monkeypatch.setattr(commands, "RuntimeTranslator", Upper)

    def running(*arguments, given=""):
        monkeypatch.setattr("sys.stdin", io.StringIO(given))
        code = 0
        try:
            commands.main([*map(str, arguments)])
        except SystemExit as found:
            code = found.code
        return SimpleNamespace(code=code, **dict(zip(("out", "err"), capsys.readouterr(), strict=True)))

    return running


def test_lines_of_the_input_are_translated_one_for_one(run):
    lines = [f"line {number}" if number % 7 else "" for number in range(600)]
    found = run("translate", "RUN", given="\n".join(lines) + "\n")
    assert found.out == "".join(f"{line.upper()}\n" for line in lines)


def test_texts_and_n_best_lists_are_printed(run):
    assert run("translate", "RUN", "a b").out == "A B\n"
    assert run("translate", "RUN", "a", "--n-best", 2).out == "-0.0000\tA\n-1.0000\tA\n"


def test_pairs_are_scored_and_aligned(run, tmp_path):
    (tmp_path / "pairs.tsv").write_text("a\tb\n")
    assert run("score", "RUN", tmp_path / "pairs.tsv").out == "-1.5000\n"
    assert json.loads(run("align", "RUN", given="a\tb\n").out)["weights"] == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    "arguments", [("score", "RUN"), ("translate", "RUN", "fault"), ("translate", "/no/folder", "a")]
)
def test_bad_input_is_one_line(arguments, run, monkeypatch):
    if arguments[0] == "translate":
        monkeypatch.undo()
    found = run(*arguments, given="no tab\n")
    assert found.code == 2 and found.err.count("\n") == 1 and found.err.startswith("regard-runtime: ")


@pytest.fixture
def asked():
    """Ask a server; return status and content."""
    with Server(Upper(), "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def asking(body, path="/translate", method="POST"):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            found = answer.status, json.loads(answer.read())
            connection.close()
            return found

        yield asking
        server.shutdown()


def test_texts_are_answered_as_they_are_asked(asked):
    assert asked({"q": "a"}) == (200, {"translatedText": "A"})
    assert asked({"q": ["a", "b"]}) == (200, {"translatedText": ["A", "B"]})
    assert asked(None, "/health", "GET") == (200, {"status": "ok"})


@pytest.mark.parametrize(
    ("body", "status"),
    [({}, 400), ({"q": 1}, 400), ([], 400), ({"q": ["a"] * (MOST_TEXTS + 1)}, 413), ({"q": "fault"}, 400),
     ({"q": "a" * 1_000_001}, 413)],
    ids=["no q", "number", "list", "many", "too long", "bytes"],
)  # fmt: skip
def test_bad_requests_have_a_status_and_one_line(body, status, asked):
    found, content = asked(body)
    assert found == status and "\n" not in content["error"]


@pytest.mark.parametrize(
    ("sent", "status"),
    [(b"POST /translate HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", b"411"),
     (b"POST /translate HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", b"411"),
     (b"POST /translate HTTP/1.1\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n", b"411"),
     (b"POST /translate HTTP/1.1\r\nContent-Length: 60000\r\n\r\n" + b"[" * 60000, b"400"),
     (b"GET /health HTTP/1.1\r\nContent-Length: 40\r\n\r\nGET /health HTTP/1.1\r\n\r\n", b"200")],
    ids=["chunked", "two lengths", "digits", "nested", "body of GET"],
)  # fmt: skip
def test_a_connection_has_one_answer(sent, status):
    with Server(Upper(), "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            connection.sendall(sent)
            found = b"".join(iter(lambda: connection.recv(65536), b""))
        server.shutdown()
    assert found.count(b"HTTP/1.0 ") == 1 and found.split()[1] == status


def test_other_paths_are_named(asked):
    assert asked({"q": "a"}, "/other")[0] == 404
