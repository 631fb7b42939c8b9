"""regard explain: a terminal, a page, a picture, JSON."""

import json

import pytest
from typer.testing import CliRunner

from regard import predictor
from regard.cli.app import app
from regard.results import Explanation, Prediction


class Seer:
    """Translates everything to `rot Haus` and looks crosswise."""

    def predict(self, texts, explain):
        assert explain
        found = Explanation(["red", "▁house"], ["rot", "▁Haus"], [(0, 1), (1, 0)], [[0.1, 0.9], [0.8, 0.2]])
        return [Prediction(text, "rot Haus", -1.0, [-0.5, -0.5], explanation=found) for text in texts]


@pytest.fixture(autouse=True)
def _loads(monkeypatch):
    monkeypatch.setattr(predictor, "load", lambda run: Seer(), raising=False)


def explain(*words):
    done = CliRunner().invoke(app, ["explain", "run", *words])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_terminal_shows_the_translation():
    assert "rot Haus" in explain("red house")


def test_json_holds_every_text():
    data = json.loads(explain("red house", "another", "--json"))
    assert [row["source"] for row in data["predictions"]] == ["red house", "another"]
    assert data["predictions"][0]["explanation"]["weights"] == [[0.1, 0.9], [0.8, 0.2]]


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_a_model_that_looks_at_no_words_has_no_picture(monkeypatch, tmp_path, kind):
    class Blind:
        def predict(self, texts, explain):
            found = Explanation(["red", "</s>"], ["rot", "</s>"], [], [])
            return [Prediction(text, "rot", -1.0, [-0.5, -0.5], explanation=found) for text in texts]

    monkeypatch.setattr(predictor, "load", lambda run: Blind(), raising=False)
    done = CliRunner().invoke(app, ["explain", "run", "red", f"--{kind}", str(tmp_path / "picture")])
    assert (done.exit_code, (tmp_path / "picture").exists()) == (2, False)
    assert "looks at no single words" in done.stderr


def test_files_of_every_kind(tmp_path):
    files = {kind: tmp_path / f"page.{kind}" for kind in ("html", "svg", "png")}
    explain("red house", *(word for kind, path in files.items() for word in (f"--{kind}", str(path))))
    assert files["html"].read_text().lower().startswith("<!doctype html>")
    assert files["svg"].read_text().startswith("<svg")
    assert files["png"].read_bytes().startswith(b"\x89PNG")
