"""Better translations that people send in."""

import pytest
from known_engine import served
from questions import KINDS, ask, plain
from small_runs import regard

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
