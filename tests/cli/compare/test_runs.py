"""regard compare: interrupted, extended or hit by a fault, it goes on with what there is."""

import json
import os
import signal
from pathlib import Path

import pytest
from comparisons import CONFIG, compare, instead, table_of, texts
from small_runs import PAIRS

import regard
from regard.errors import DataError, TrainingError
from regard.reports.compare import compare as comparison
from regard.runs import Run
from regard.training.progress import Progress


def test_other_decoding_is_measured_anew_but_not_trained(trained):
    said = compare("dot.yaml", "--seeds", 1, "--quiet").err.splitlines()
    assert [line for line in said if "other programs use the processor" not in line] == []  # told of a busy machine
    said = compare("dot.yaml", "--seeds", 1, "decoding.search={name: beam, size: 2}", "--json")
    assert (trained, said.code) == (["dot-seed1"], 0)
    assert regard.load("runs/compare-dot/dot-seed1").setup.engine.search.size == 2


def test_more_seeds_and_longer_training_go_on_with_what_there_is(trained):
    compare("dot.yaml", "--seeds", 1)
    said = compare("dot.yaml", "--seeds", 2, "--updates", 3, "--json")
    assert trained == ["dot-seed1", "dot-seed1 resumed", "dot-seed2"]
    assert [run["updates"] for run in said.values["systems"][0]["runs"]] == [3, 3]


def test_every_vocabulary_is_learnt_before_the_first_training(trained):
    said = compare("dot.yaml", "--grid", "text.tokenizer=words,{name: subwords, size: 270}", "--seeds", 1)
    assert (said.code, trained) == (2, [])
    assert "subwords-size-270: text.tokenizer.size: is 270, but this text needs" in said.err


def test_a_text_that_cannot_be_read_is_reported_before_the_first_training(folder, trained):
    (folder / "latin.en").write_bytes("schön\n".encode("latin1"))
    said = compare("dot.yaml", "wide.yaml", "data.dev.source=latin.en", "--seeds", 1)
    assert (said.code, trained) == (2, [])
    assert "latin.en:1: not UTF-8" in said.err


def test_finished_run_is_opened_once_before_training(monkeypatch, trained):
    compare("dot.yaml", "--seeds", 1)
    opened, seen, real, train_all = list[str](), list[list[str]](), Run.open, comparison.train_all

    def counted(path, changes=()):
        opened.append(path.path.name)
        return real(path, changes)

    def train(*given):
        seen.append([*opened])
        return train_all(*given)

    monkeypatch.setattr(Run, "open", counted)
    monkeypatch.setattr(comparison, "train_all", train)
    assert compare("dot.yaml", "--seeds", 1, "--quiet").code == 0
    assert seen == [["dot-seed1"]]


def test_a_budget_of_processor_time_is_gone_on_with(trained):
    words = ["dot.yaml", "training.patience=null", "--seeds", 1, "--json", "--core-minutes"]
    said = compare(*words, 0.01)
    assert "to train: 1 runs, at most 0.01 min of processor time each" in said.err
    first = said.values["systems"][0]["runs"][0]
    assert first["core_seconds"] >= 0.5  # of 0.6: the time may run out while the last checkpoint is written
    again = compare(*words, 0.04).values["systems"][0]["runs"][0]  # 0.01 is exceeded twofold on a busy machine
    assert trained == ["dot-seed1", "dot-seed1 resumed"]
    assert again["core_seconds"] >= 2.0  # of 2.4
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

    begun = list[str]()

    def train(experiment, real, **settings):
        begun.append(experiment.run.name)
        if len(begun) == 2:
            raise Killed
        return real(experiment, **settings)

    instead(monkeypatch, train)
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
    assert said.err.splitlines()[-1] == "what was being trained is saved; go on with the same command"
    said = compare("dot.yaml", "wide.yaml", "--seeds", 1, "--json")
    assert trained == ["dot-seed1", "wide-seed1", "wide-seed1 resumed"]
    assert [point[0] for point in said.values["systems"][1]["runs"][0]["curve"]] == [1, 2]


def failing(monkeypatch, name: str, error: Exception) -> None:
    """The training of one run fails."""

    def train(experiment, real, **settings):
        if experiment.run.name == name:
            raise error
        return real(experiment, **settings)

    instead(monkeypatch, train)


@pytest.fixture(scope="module")
def two_seeds(tmp_path_factory):
    """Where runs that fail in one way after another are compared with others, which are trained once."""
    return texts(tmp_path_factory.mktemp("two seeds"))


@pytest.fixture(scope="module")
def one_seed(tmp_path_factory):
    return texts(tmp_path_factory.mktemp("one seed"))


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (TrainingError("the loss is no number at update 1"), "the loss is no number at update 1"),
        (OSError(28, "No space left on device", "file"), "file: No space left on device"),
        (
            RuntimeError("can't allocate memory\nof 9 GB"),
            "RuntimeError: can't allocate memory (see runs/compare-dot/logs",
        ),
        (MemoryError(), "MemoryError (see runs/compare-dot/logs/wide-seed2.log)"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_a_run_that_fails_is_told_and_the_others_are_compared(two_seeds, monkeypatch, error, told):
    monkeypatch.chdir(two_seeds)
    failing(monkeypatch, "wide-seed2", error)
    said = compare("dot.yaml", "wide.yaml", "--seeds", 2)
    assert said.code == 2
    assert f"error: wide-seed2: {told}" in said.err
    assert [row[1] for row in table_of(said)[1:]] == ["2", "1"]
    assert told.partition(" (")[0].replace("'", "&#39;") in Path("runs/compare-dot/report.html").read_text("utf-8")


def test_without_the_baseline_the_others_are_compared_with_the_first_of_them(monkeypatch):
    (Path.cwd() / "more.yaml").write_text(CONFIG)
    failing(monkeypatch, "dot-seed1", TrainingError("the loss is no number at update 1"))
    said = compare("dot.yaml", "wide.yaml", "more.yaml", "--seeds", 1)
    assert (said.code, said.err.count("error:")) == (2, 1), said.err
    assert "- No run of dot has a result: the others are compared with wide instead.\n" in said.out
    head, *rows = table_of(said)
    assert [(row[0], row[head.index("p")] == "–") for row in rows] == [("wide", True), ("more", False)]
    assert json.loads(Path("runs/compare-dot/compare.json").read_text("utf-8"))["baseline"] == "wide"
    assert Path("runs/compare-dot/report.html").exists()


def test_where_nothing_can_be_trained_there_is_no_report(monkeypatch):
    failing(monkeypatch, "dot-seed1", TrainingError("the loss is no number at update 1"))
    said = compare("dot.yaml", "--seeds", 1)
    assert (said.code, said.out, said.err.count("error:")) == (2, "", 1)
    assert "error: dot-seed1: the loss is no number at update 1" in said.err


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RuntimeError("can't allocate memory"), "RuntimeError: can't allocate memory (see "),
        (DataError("a.en", "is gone"), "a.en: is gone"),
        (OSError(28, "No space left on device", "results"), "results: No space left on device"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_a_run_that_cannot_be_measured_does_not_lose_the_others(one_seed, monkeypatch, error, told):
    monkeypatch.chdir(one_seed)
    real = comparison.measure_run

    def measure_run(run, judge):
        if run.name == "wide-seed1":
            raise error
        return real(run, judge)

    monkeypatch.setattr(comparison, "measure_run", measure_run)
    said = compare("dot.yaml", "wide.yaml", "--seeds", 1)
    assert (said.code, [row[0] for row in table_of(said)[1:]]) == (2, ["dot"])
    assert f"error: wide-seed1: {told}" in said.err
    if told.endswith("(see "):
        assert "in measure_run" in Path("runs/compare-dot/logs/wide-seed1.log").read_text("utf-8")


def test_a_config_edited_meanwhile_changes_nothing_of_what_was_begun(folder, monkeypatch):
    """Seed 2 is trained as the settings were when the command was typed."""

    def train(experiment, real, **settings):
        done = real(experiment, **settings)
        (folder / "dot.yaml").write_text(CONFIG.replace("dim: 16\n  position", "dim: 48\n  position"))
        return done

    instead(monkeypatch, train)
    said = compare("dot.yaml", "--seeds", 2, "--json")
    assert said.code == 0, said.err
    models = [regard.load(f"runs/compare-dot/dot-seed{seed}").model for seed in (1, 2)]
    first, second = (sum(parameter.numel() for parameter in model.parameters()) for model in models)
    assert first == second == said.values["systems"][0]["parameters"]


def test_a_run_that_became_another_meanwhile_has_no_result(folder, monkeypatch):
    """Texts are read when a run begins."""

    def train(experiment, real, **settings):
        done = real(experiment, **settings)
        (folder / "a.en").write_text("".join(f"{pair[0]} !\n" for pair in PAIRS))
        return done

    instead(monkeypatch, train)
    said = compare("dot.yaml", "--seeds", 2)
    assert (said.code, [row[1] for row in table_of(said)[1:]]) == (2, ["1"])
    assert "error: dot-seed2: data: was trained on other texts" in said.err


def test_who_trains_the_same_model_twice_is_told(trained):
    said = compare("dot.yaml", "--grid", "decoding.search={name: beam, size: 2},greedy", "--seeds", 1)
    same = "beam-size-2, greedy: the same model is trained for each, as they differ in its use alone"
    assert (len(trained), said.err.splitlines()[0]) == (2, f"warning: {same}")
    assert "the same model" not in compare("dot.yaml", "wide.yaml", "--seeds", 1, "--run", "other").err


def test_half_a_run_is_begun_anew_and_what_is_no_run_is_left_alone(trained):
    run = Path("runs/compare-dot/dot-seed1")
    run.mkdir(parents=True)
    Path("runs/compare-dot/compare.json").write_text("{}")
    (run / ".lock").touch()
    (run.parent / "dot-seed2").mkdir()
    (run.parent / "dot-seed2/notes").touch()
    said = compare("dot.yaml", "--seeds", 2)
    assert (said.code, trained, (run / ".lock").exists()) == (2, [], True)  # asking does not clear it away
    assert "runs/compare-dot/dot-seed2: run: is not a run folder" in said.err
    said = compare("dot.yaml", "--seeds", 1, "-j", 9999)
    assert (said.code, trained) == (0, ["dot-seed1"])
    assert said.err.startswith("warning: --jobs 9999: there are ")
