"""Better translations that people send in."""

import json
import sqlite3
from concurrent.futures import ProcessPoolExecutor

import pytest
from known_engine import listening_server, served
from questions import KINDS, ask, plain
from small_runs import regard

from regard.errors import RegardError
from regard.memory import TranslationMemory
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


def test_a_file_that_was_moved_away_has_no_corrections(tmp_path):
    place, keys = tmp_path / "better.jsonl", tmp_path / "keys"
    keys.write_text("chief\tann\tadmin,suggest\n", encoding="utf-8")
    with served(settings=Settings(suggestions=place, keys=Keys(file=keys))) as client:
        headers = {"Authorization": "Bearer chief"}
        for lines in (0, 1):
            found = client.get("/v1/corrections/file", headers=headers)
            assert (found.status_code, found.text.count("\n")) == (200, lines)
            ask(client, "/suggest", SUGGESTION, "json", **headers)


def test_a_memory_names_author_and_key_and_its_failure_is_reported(tmp_path):
    place, keys = tmp_path / "en-de.memory", tmp_path / "keys"
    memory = TranslationMemory(place, ("en", "de"))
    keys.write_text("one\tteam\tsuggest\n", encoding="utf-8")
    settings = Settings(suggestions=tmp_path / "better.jsonl", memories=(place,), keys=Keys(file=keys))
    with served(settings=settings) as client:
        asked = {"Authorization": "Bearer one"}
        told = ask(client, "/v1/corrections", {**CORRECTION, "author": "Ann"}, "json", **asked).json()
        assert told == {"success": True}
        assert [one.author for one in memory.segments()] == ["Ann (team)"]
        with sqlite3.connect(place) as other:
            other.execute("ALTER TABLE segments RENAME TO lost")
        told = [ask(client, "/suggest", SUGGESTION, "json", **asked).json()]
        told.append(ask(client, "/v1/corrections", CORRECTION, "json", **asked).json())
    assert [(one["success"], len(one["warnings"])) for one in told] == [(True, 1)] * 2


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
