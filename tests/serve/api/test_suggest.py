"""Better translations that people send in."""

import json
from concurrent.futures import ProcessPoolExecutor

import pytest
from known_engine import listening_server, served
from questions import KINDS, ask, plain
from small_runs import regard

from regard.errors import RegardError
from regard.recipes.corrections import corrected_texts, fetched
from regard.serve.api import suggest
from regard.serve.errors import ApiError
from regard.serve.security import Keys
from regard.serve.settings import Settings

SUGGESTION = {"q": "Hello", "s": "Servus", "source": "en", "target": "de"}


def test_suggestions_are_off_if_nothing_is_said():
    told = {"error": "Suggestions are disabled on this server."}
    with served() as client:
        assert plain(ask(client, "/suggest", SUGGESTION, "json")) == (403, told)


@pytest.mark.parametrize("kind", KINDS)
def test_suggestions_are_kept(kind, tmp_path):
    place = tmp_path / "better.jsonl"
    with served(settings=Settings(suggestions=place)) as client:
        assert plain(ask(client, "/suggest", SUGGESTION, kind)) == (200, {"success": True})
        for name in SUGGESTION:
            without = {key: value for key, value in SUGGESTION.items() if key != name}
            told = {"error": f"Invalid request: missing {name} parameter"}
            assert plain(ask(client, "/suggest", without, kind)) == (400, told)
    [line] = place.read_text("utf-8").splitlines()
    assert '"q": "Hello", "s": "Servus", "source": "en", "target": "de"' in line


@pytest.mark.parametrize(("name", "reason"), [("gone/better.jsonl", "No such file"), (".", "Is a directory")])
def test_suggestions_that_cannot_be_kept(tmp_path, caplog, name, reason):
    """It is told and logged, and no fault of the server."""
    with served(settings=Settings(suggestions=tmp_path / name)) as client:
        found = ask(client, "/suggest", SUGGESTION, "json")
    assert (found.status_code, list(found.json())) == (503, ["error"])
    assert int(found.headers["Retry-After"]) > 0
    assert reason in caplog.text


@pytest.mark.parametrize("name", ["gone/better.jsonl", "."])
def test_where_suggestions_cannot_be_kept_is_told_at_the_start(tmp_path, name):
    (tmp_path / "experiment.yaml").touch()  # what looks like a run from outside
    done = regard("serve", tmp_path, "--suggestions", tmp_path / name)
    assert (done.code, "--suggestions: " in done.said, "cannot be written" in done.said) == (2, True, True)


CORRECTION = {"source_text": "Hello", "target_text": "Servus", "source": "en", "target": "de", "answer": "Hallo"}


def test_a_correction_names_what_it_corrects(tmp_path):
    place = tmp_path / "better.jsonl"
    with served(settings=Settings(suggestions=place)) as client:
        for more in ({}, {"model": "en-de", "author": " Ann "}, {"model": "en-de", "version": "0123"}):
            assert ask(client, "/v1/corrections", {**CORRECTION, **more}, "json").json() == {"success": True}
        refused = {
            "there is no such field": {"auther": "Ann"},
            "is not a model of this server": {"model": "en-fr"},
            "author: String should have at most 100 characters": {"author": "A" * 101},
            "name the language of the text": {"source": "auto"},
            "fr is not supported": {"target": "fr"},
            "text 1 has 5001 characters": {"answer": "x" * 5001},
        }
        for words, more in refused.items():
            found = ask(client, "/v1/corrections", {**CORRECTION, **more}, "json")
            assert (found.status_code, words in found.json()["error"]) == (400, True), found.json()
    rows = [json.loads(line) for line in place.read_text("utf-8").splitlines()]
    texts = {"q": "Hello", "s": "Servus", "source": "en", "target": "de", "answer": "Hallo"}
    added = [{}, {"model": "en-de", "author": "Ann", "version": "abc"}, {"model": "en-de", "version": "0123"}]
    assert [{name: row[name] for name in row if name != "time"} for row in rows] == [{**texts, **one} for one in added]


def test_an_administrator_fetches_all_corrections(tmp_path, monkeypatch):
    place, keys = tmp_path / "better.jsonl", tmp_path / "keys"
    keys.write_text("reader\nchief\tann\tadmin\n", encoding="utf-8")
    with listening_server(settings=Settings(suggestions=place, keys=Keys(file=keys))) as (address, *_):
        suggest.keep(place, {"q": "Hello", "s": "Servus", "source": "en", "target": "de"})
        monkeypatch.setenv("REGARD_API_KEY", "chief")
        with fetched(address) as path:
            assert corrected_texts(path, ("en", "de")) == {"Hello": "Servus"}
        assert not path.exists()
        monkeypatch.setenv("REGARD_API_KEY", "reader")
        with pytest.raises(RegardError, match=r"403.*right admin"), fetched(address):
            pass
    with pytest.raises(RegardError, match=r"v1/corrections/file: .*refused"), fetched(address):
        pass


def _kept(place, number):
    for line in range(40):
        suggest.keep(place, {"q": f"{number} {line}" + "x" * 500, "s": "Servus"})


def test_several_processes_append_whole_lines(tmp_path):
    place = tmp_path / "better.jsonl"
    place.write_bytes(b'{"q": "half a li')  # of a process that was killed
    with ProcessPoolExecutor(3) as pool:
        [*pool.map(_kept, [place] * 3, range(3))]
    torn, *lines = place.read_text("utf-8").splitlines()
    assert torn == '{"q": "half a li'
    assert sorted(json.loads(line)["q"].rstrip("x") for line in lines) == sorted(
        f"{number} {line}" for number in range(3) for line in range(40)
    )


def test_a_full_file_takes_no_more(tmp_path, monkeypatch):
    monkeypatch.setattr(suggest, "MAX_FILE", 40)
    suggest.keep(tmp_path / "better.jsonl", {"q": "Hello", "s": "Servus"})
    with pytest.raises(ApiError):
        suggest.keep(tmp_path / "better.jsonl", {"q": "Hello", "s": "Servus"})
    assert (tmp_path / "better.jsonl").read_text("utf-8").count("\n") == 1
