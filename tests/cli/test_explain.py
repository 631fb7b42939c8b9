"""regard explain: a terminal, a page, a picture, JSON."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from regard import predictor
from regard.cli.app import app
from regard.cli.files import check_writable
from regard.results import Explanation, Prediction, SearchNode, SearchTree, TextPrediction


class Seer:
    """Translates everything to `rot Haus` and looks crosswise."""

    run = SimpleNamespace(path=Path("run"), measurements=SimpleNamespace(grades=lambda: None))

    @property
    def explainer(self):
        return self

    def predict(self, texts, explain, **context):
        assert explain
        weights = [[0.1, 0.5, 0.4], [0.8, 0.1, 0.1]]
        found = Explanation.of_text(["red", "▁ho", "use"], ["rot", "▁Haus"], [(0, 1), (1, 0)], weights)
        return [Prediction(text, "rot Haus", -1.0, [-0.5, -0.5], explanation=found) for text in texts]


pytestmark = pytest.mark.usefixtures("run_folder")


@pytest.fixture(autouse=True)
def loads(monkeypatch):
    calls = []

    def load(run, changes):
        calls.append(list(changes))
        return Seer()

    monkeypatch.setattr(predictor, "load", load, raising=False)
    return calls


def explain(*words):
    done = CliRunner().invoke(app, ["explain", "run", *words])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_settings_among_the_texts_are_changes(loads):
    texts = ["x=1", "decoding.search is one", "device"]
    data = json.loads(explain(*texts, "decoding.search.size=1", "device=cpu", "decoding.serch=beam", "--json"))
    assert [row["source"] for row in data["predictions"]] == texts
    assert loads == [["decoding.search.size=1", "device=cpu", "decoding.serch=beam"]]


def test_changes_without_a_text_are_told(loads):
    done = CliRunner().invoke(app, ["explain", "run", "device=cpu"])
    assert (done.exit_code, loads) == (2, [])
    assert "there is nothing to explain" in done.stderr


def test_the_terminal_shows_the_translation():
    assert "rot Haus" in explain("red house")


def test_json_holds_every_text():
    data = json.loads(explain("red house", "another", "--json"))
    assert [row["source"] for row in data["predictions"]] == ["red house", "another"]
    assert data["predictions"][0]["explanation"]["weights"] == [[0.1, 0.5, 0.4], [0.8, 0.1, 0.1]]


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_a_model_that_looks_at_no_words_has_no_picture(monkeypatch, tmp_path, kind):
    class Blind(Seer):
        def predict(self, texts, explain, **context):
            found = Explanation.of_text(["red", "</s>"], ["rot", "</s>"], [], [])
            return [Prediction(text, "rot", -1.0, [-0.5, -0.5], explanation=found) for text in texts]

    monkeypatch.setattr(predictor, "load", lambda run, changes: Blind(), raising=False)
    done = CliRunner().invoke(app, ["explain", "run", "red", "--plot", str(tmp_path / f"plot.{kind}")])
    assert (done.exit_code, (tmp_path / f"plot.{kind}").exists()) == (2, False)
    assert "does not read single words" in done.stderr


def test_files_of_every_kind(tmp_path):
    files = {kind: tmp_path / f"page.{kind}" for kind in ("html", "svg", "png")}
    names = {"html": "--html", "svg": "--plot", "png": "--plot"}
    options = [word for kind, path in files.items() for word in (names[kind], str(path))]
    done = CliRunner().invoke(app, ["explain", "run", "red house", *options])
    assert done.exit_code == 0, done.output
    assert done.stderr.splitlines() == [f"wrote {path}" for path in files.values()]
    assert files["html"].read_text().lower().startswith("<!doctype html>")
    assert files["svg"].read_text().startswith("<svg")
    assert re.findall("<text [^>]*>(.*)</text>", files["svg"].read_text())[1:] == ["red", "house", "rot", "Haus"]
    assert "rot → house: 0.900" in files["svg"].read_text()
    assert files["png"].read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("option", "name"), [("--html", "file"), ("--plot", "file.svg"), ("--plot", "file.png")])
def test_a_file_that_cannot_be_written_is_told_before_anything_is_done(loads, tmp_path, option, name):
    (tmp_path / "page").write_text("older")
    options = ["--html", str(tmp_path / "page"), option, str(tmp_path / "none" / name)]
    done = CliRunner().invoke(app, ["explain", "run", "red house", *options])
    assert (done.exit_code, done.stdout, loads) == (2, "", [])
    folder = tmp_path / "none"
    told = f"{option}: {folder / name}: there is no folder '{folder}' (make it first: mkdir -p {folder})"
    assert done.stderr == f"error: {told}\n"
    assert (tmp_path / "page").read_text() == "older"


def test_to_look_whether_a_file_can_be_written_leaves_nothing(tmp_path):
    check_writable(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(IsADirectoryError):
        check_writable(tmp_path)


def test_steps_of_the_search_are_shown(monkeypatch):
    tree = SearchTree([SearchNode(-1, "▁rot", -0.5, -0.5, "kept"), SearchNode(-1, "▁Rot", -2.0, -2.0, "dropped")], 0)
    seen = []

    def with_search_tree(predictor, found):
        seen.append(len(found))
        return [TextPrediction(one.source, one.text, one.score, search=tree) for one in found]

    monkeypatch.setattr(Seer, "with_search_tree", with_search_tree, raising=False)
    assert "dropped Rot −2.00" in explain("red house", "--steps")
    data = json.loads(explain("red house", "another", "--steps", "--json"))
    assert [row["details"]["search"]["answer"] for row in data["predictions"]] == [0, 0]
    assert "dropped" not in explain("red house")
    assert seen == [1, 2]


def test_steps_of_no_search_are_told(monkeypatch):
    monkeypatch.setattr(Seer, "with_search_tree", lambda predictor, found: found, raising=False)
    done = CliRunner().invoke(app, ["explain", "run", "red", "--steps"])
    assert done.exit_code == 2
    assert "--steps: there is no search" in done.stderr


def runs_of(monkeypatch, **languages):
    """Runs that all translate to `rot Haus`, with languages by name; the others weigh each word alike."""

    def load(run, changes):
        found = Seer()
        found.run = SimpleNamespace(path=Path(run), measurements=Seer.run.measurements)
        found.task = SimpleNamespace(
            spec=SimpleNamespace(translated="source"), columns={"source": "text", "target": "text"}
        )
        found.setup = SimpleNamespace(languages=("en", languages.get(run.name, "de")))
        return found

    def beside(model, predictions, methods):
        weights = [[0.4, 0.3, 0.3]] * 2
        found = Explanation.of_text(["red", "▁ho", "use"], ["rot", "▁Haus"], [], weights)
        return [Prediction(one.source, one.text, -2.0, [-1.0, -1.0], explanation=found) for one in predictions]

    monkeypatch.setattr(predictor, "load", load, raising=False)
    monkeypatch.setattr(Seer, "with_own_explanations", beside, raising=False)


def test_another_run_stands_beside_the_first(monkeypatch):
    runs_of(monkeypatch)
    for run in ("runs/other", "elsewhere/run"):
        Path(run).mkdir(parents=True)
    lines = explain("red house", "--beside", "runs/other").splitlines()
    first = lines.index("rot")
    assert lines[first : first + 6] == [
        "rot",
        "  run   ← house 90%, red 10%",
        "  other ← house 60%, red 40%",
        "Haus",
        "  run   ← red 80%, house 20%",
        "  other ← house 60%, red 40%",
    ]
    data = json.loads(explain("red house", "--beside", "elsewhere/run", "--json"))
    assert (data["model"], list(data["predictions"][0]["beside"])) == ("run", ["elsewhere/run"])


def test_a_run_of_other_languages_cannot_stand_beside(monkeypatch):
    runs_of(monkeypatch, french="fr")
    Path("french").mkdir()
    done = CliRunner().invoke(app, ["explain", "run", "red", "--beside", "french"])
    assert done.exit_code == 2
    assert "--beside: french does not translate as run does" in done.stderr
