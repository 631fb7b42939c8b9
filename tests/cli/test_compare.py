"""regard compare: trains, measures and tells; interrupted or extended, it goes on with what there is."""

import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from small_runs import PAIRS
from typer.testing import CliRunner

import regard
from regard.cli.app import app
from regard.errors import TrainingError
from regard.reports.compare import training as compare_training
from regard.training.progress import Progress

CONFIG = """
data: {source: a.en, target: a.de, dev_source: a.en, dev_target: a.de, test_source: a.en, test_target: a.de}
model:
  dim: 16
  position: null
  encoder: {name: recurrent, cell: gru, hidden_dim: 8}
  decoder: {name: recurrent, cell: gru, hidden_dim: 16}
  attention: dot
text: {tokenizer: {name: words}}
training: {max_updates: 2, validate_every: 1, log_every: 1, average: 1}
evaluation: {metrics: [bleu, chrf]}
decoding: {search: greedy}
"""
GOLD = ["1-1 2-2 3p3", "1-1 2-2", "1-1 2-2", "1-1"] * 3


class Said(NamedTuple):
    """How the command ended."""

    code: int
    out: str
    err: str

    @property
    def values(self) -> dict[str, Any]:
        return json.loads(self.out)


def compare(*words: object) -> Said:
    done = CliRunner().invoke(app, ["compare", *map(str, words)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Said(done.exit_code, done.stdout, done.stderr)


def table_of(said: Said) -> list[list[str]]:
    """The cells of the first table: its head, then row by row."""
    lines = [line for line in said.out.partition("\n- ")[0].splitlines() if line.startswith("| ")]
    return [line.strip("| ").split(" | ") for line in lines if "---" not in line]


def texts(folder: Path) -> Path:
    for side, name in enumerate(("a.en", "a.de")):
        (folder / name).write_text("".join(f"{pair[side]}\n" for pair in PAIRS), encoding="utf-8")
    (folder / "gold").write_text("".join(f"{line}\n" for line in GOLD))
    (folder / "dot.yaml").write_text(CONFIG)
    (folder / "wide.yaml").write_text(CONFIG.replace("dim: 16\n  position", "dim: 24\n  position"))
    return folder


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """Where the command runs."""
    monkeypatch.chdir(texts(tmp_path))
    return tmp_path


@pytest.fixture
def trained(monkeypatch) -> list[str]:
    """The names of the runs that are trained from now on."""
    names: list[str] = []
    real = compare_training.train_run

    def noted(experiment, **settings):
        names.append(f"{experiment.run.name}{' resumed' if settings['resume'] else ''}")
        return real(experiment, **settings)

    monkeypatch.setattr(compare_training, "train_run", noted)
    return names


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> tuple[Path, Said]:
    """Two configs with two seeds, once for all who only look."""
    place = texts(tmp_path_factory.mktemp("compared"))
    before = Path.cwd()
    os.chdir(place)
    try:
        said = compare(
            "dot.yaml", "wide.yaml", "--seeds", 2, "--gold", "gold", "a.en", "a.de", "--markdown", "table.md"
        )
    finally:
        os.chdir(before)
    return place, said


def test_it_tells_what_it_will_do_and_how_far_it_is(done):
    _, said = done
    lines = said.err.splitlines()
    assert said.code == 0, said.err
    assert lines[0] == "comparing 2 systems with 2 seeds: 4 runs, in runs/compare-dot"
    assert lines[1].startswith("to train: 4 runs of 2 updates; how long")
    assert [line.partition(":")[0] for line in lines[2:6]] == [
        "run 1 of 4, dot-seed1", "run 2 of 4, wide-seed1", "run 3 of 4, dot-seed2", "run 4 of 4, wide-seed2",
    ]  # fmt: skip
    assert re.fullmatch(
        r"run 1 of 4, dot-seed1: 2 updates in \d+ s, dev bleu \d+\.\d\d · all trained in about \d+ s", lines[2]
    )
    assert lines[-1] == "report: runs/compare-dot/report.html"


def test_one_table_with_all_that_was_asked_for(done):
    place, said = done
    head, *rows = table_of(said)
    assert " | ".join(head) == (
        "system | runs | BLEU | 95 % | p | chrF | AER % | parameters | train tokens/s | train words/s | "
        "decode sentences/s | minutes | core minutes"
    )
    assert [row[0] for row in rows] == ["dot", "wide"]
    assert said.out.startswith("# Comparison of dot, wide\n\n| system |")
    assert "\n## BLEU by words of the source (sentences)\n\n| words | 1-5 (12) |\n" in said.out
    assert (place / "table.md").read_text(encoding="utf-8") == said.out


def test_the_figures_are_those_of_the_runs(done):
    place, _ = done
    values = json.loads((place / "runs/compare-dot/compare.json").read_text(encoding="utf-8"))
    for system in values["systems"]:
        assert 0 <= system["alignment_error_rate"]["mean"] <= 100
        for number, run in enumerate(system["runs"], start=1):
            predictor = regard.load(place / "runs/compare-dot" / run["name"])
            written = [one.text for one in predictor.predict([pair[0] for pair in PAIRS])]
            kept = json.loads((place / f"runs/compare-dot/results/{run['name']}.json").read_text(encoding="utf-8"))
            assert (kept["texts"], run["seed"], run["updates"]) == (written, number, 2)
            assert kept["tokens_per_word"] == 1.5  # 8 words in 4 sentences, each of which ends
            assert system["parameters"] == sum(one.numel() for one in predictor.model.parameters())
    assert values["differing"]["model.dim"] == {"dot": 16, "wide": 24}
    assert values["systems"][0]["scores"]["BLEU"]["p_value"] is None
    assert 0 < values["systems"][1]["scores"]["BLEU"]["p_value"] <= 1


def test_the_report_is_a_page(done):
    html = (done[0] / "runs/compare-dot/report.html").read_text(encoding="utf-8")
    assert "<title>Comparison of dot, wide</title>" in html


def test_what_is_done_is_not_done_again(done, trained, monkeypatch):
    place, before = done
    monkeypatch.chdir(place)
    results = {path: path.stat().st_mtime_ns for path in Path("runs/compare-dot/results").iterdir()}
    said = compare("dot.yaml", "wide.yaml", "--seeds", 2, "--gold", "gold", "a.en", "a.de", "--baseline", "wide")
    assert (trained, said.code) == ([], 0), said.err
    assert {path: path.stat().st_mtime_ns for path in results} == results
    _, first, second = table_of(said)
    assert (first[4] != "–", second[4]) == (True, "–")
    assert first[2:4] == table_of(before)[1][2:4]


def test_other_decoding_is_measured_anew_but_not_trained(trained):
    assert compare("dot.yaml", "--seeds", 1, "--quiet").err == ""
    said = compare("dot.yaml", "--seeds", 1, "decoding.search={name: beam, size: 2}", "--json")
    assert (trained, said.code) == (["dot-seed1"], 0)
    assert regard.load("runs/compare-dot/dot-seed1").task.search.size == 2


def test_more_seeds_and_longer_training_go_on_with_what_there_is(trained):
    compare("dot.yaml", "--seeds", 1)
    said = compare("dot.yaml", "--seeds", 2, "--updates", 3, "--json")
    assert trained == ["dot-seed1", "dot-seed1 resumed", "dot-seed2"]
    assert [run["updates"] for run in said.values["systems"][0]["runs"]] == [3, 3]


def test_a_budget_of_processor_time_is_gone_on_with(trained):
    words = ["dot.yaml", "training.patience=null", "--seeds", 1, "--json", "--core-minutes"]
    said = compare(*words, 0.01)
    assert "to train: 1 runs, at most 0.01 min of processor time each" in said.err
    first = said.values["systems"][0]["runs"][0]
    assert first["core_seconds"] >= 0.5  # of 0.6: the time may run out while the last checkpoint is written
    again = compare(*words, 0.02).values["systems"][0]["runs"][0]
    assert trained == ["dot-seed1", "dot-seed1 resumed"]
    assert again["core_seconds"] >= 1.1
    assert again["updates"] > first["updates"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("model.dropout=0.4", "runs/compare-dot/dot-seed1: model.dropout: was 0.3 when it was trained, is 0.4 now"),
        ("training.max_updates=1", "training.max_updates: was 2 when it was trained, is 1 now (another --run FOLDER"),
    ],
)
def test_a_run_with_other_settings_is_refused(change, told, trained):
    compare("dot.yaml", "--seeds", 1)
    said = compare("dot.yaml", "--seeds", 1, change)
    assert (said.code, said.err.count("error:"), len(trained)) == (2, 1, 1), said.err
    assert told in said.err


def test_a_run_of_other_texts_is_refused(folder, trained):
    compare("dot.yaml", "--seeds", 1)
    (folder / "a.en").write_text("".join(f"{pair[0]} !\n" for pair in PAIRS))
    said = compare("dot.yaml", "--seeds", 1)
    assert (said.code, trained) == (2, ["dot-seed1"])
    assert "runs/compare-dot/dot-seed1: data: was trained on other texts" in said.err


def test_killed_after_a_run_it_goes_on_with_the_next(monkeypatch):
    class Killed(BaseException):
        """As if by SIGKILL: nobody catches it."""

    real, begun = compare_training.train_run, list[str]()

    def train(experiment, **settings):
        begun.append(experiment.run.name)
        if len(begun) == 2:
            raise Killed
        return real(experiment, **settings)

    monkeypatch.setattr(compare_training, "train_run", train)
    with pytest.raises(Killed):
        compare("dot.yaml", "wide.yaml", "--seeds", 1)
    finished = Path("runs/compare-dot/dot-seed1/final.json").stat().st_mtime_ns
    assert compare("dot.yaml", "wide.yaml", "--seeds", 1).code == 0
    assert begun == ["dot-seed1", "wide-seed1", "wide-seed1"]
    assert Path("runs/compare-dot/dot-seed1/final.json").stat().st_mtime_ns == finished


def test_ctrl_c_saves_and_the_same_command_resumes(monkeypatch, trained):
    real = Progress.validation

    def interrupt(self, values, best):
        if self.path.parent.name == "wide-seed1" and values["update"] == 1:
            os.kill(os.getpid(), signal.SIGINT)
        real(self, values, best)

    monkeypatch.setattr(Progress, "validation", interrupt)
    said = compare("dot.yaml", "wide.yaml", "--seeds", 1)
    assert (said.code, said.out) == (75, "")
    assert said.err.splitlines()[-1] == "wide-seed1 was saved; go on with the same command"
    said = compare("dot.yaml", "wide.yaml", "--seeds", 1, "--json")
    assert trained == ["dot-seed1", "wide-seed1", "wide-seed1 resumed"]
    assert [point[0] for point in said.values["systems"][1]["runs"][0]["curve"]] == [1, 2]


def test_a_run_that_fails_is_told_and_the_others_are_compared(monkeypatch):
    real = compare_training.train_run

    def train(experiment, **settings):
        if experiment.run.name == "wide-seed2":
            raise TrainingError("the loss is no number at update 1")
        return real(experiment, **settings)

    monkeypatch.setattr(compare_training, "train_run", train)
    said = compare("dot.yaml", "wide.yaml", "--seeds", 2)
    assert said.code == 2
    assert "error: wide-seed2: the loss is no number at update 1" in said.err
    assert [row[1] for row in table_of(said)[1:]] == ["2", "1"]
    assert "the loss is no number" in Path("runs/compare-dot/report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["model.dim=8"], "CONFIG: must be given (regard compare a.yaml b.yaml)"),
        (["no.yaml"], "no.yaml: there is no such file"),
        (["dot.yaml", "--baseline", "dto"], "--baseline: there is no 'dto' (did you mean 'dot'?)"),
        (["dot.yaml", "--run", "."], "--run: '.' exists and holds no comparison"),
        (["dot.yaml", "--gold", "gold", "a.en", "none"], "none: there is no such file"),
        (["dot.yaml", "--grid", "model.attention.score=dot,dott"], "dott: model.attention.score: there is no 'dott'"),
        (["dot.yaml", "data.test_source=null", "data.test_target=null"], "data.test_source: must be given"),
    ],
)
def test_what_is_wrong_is_told_on_one_line_before_anything_is_trained(words, told, trained):
    said = compare(*words)
    assert (said.code, said.err.count("error:"), trained) == (2, 1, []), said.err
    assert told in said.err
    assert not Path("runs").exists()


def test_the_command_is_told_as_it_was_typed(monkeypatch, trained):
    words = [
        "dot.yaml",
        "--seeds",
        "1",
        "--json",
        "training.max_updates=1",
        "--grid",
        "model.attention={name: dot, dropout: 0.1}",
    ]
    monkeypatch.setattr(sys, "argv", ["/somewhere/regard", "compare", *words])
    values = compare(*words).values
    assert values["command"] == (
        "regard compare dot.yaml --seeds 1 --json training.max_updates=1 "
        "--grid 'model.attention={name: dot, dropout: 0.1}'"
    )
