"""A run goes on from where it is, with the settings it has or is given, and one process at a time."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from small_runs import SMALL, regard, write_texts
from typer.testing import CliRunner

from regard.cli.app import app
from regard.experiment import load_experiment
from regard.runs import Run, RunFolder
from regard.runs import run as opening
from regard.training import checkpoint as files
from regard.training.updater import Updater


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    code, said, _ = regard("train", *SMALL, *write_texts(folder), "--run", folder / "run", "--quiet")
    assert code == 0, said
    return folder / "run"


@pytest.fixture
def run(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "run")


def content(run: Path) -> dict[str, bytes]:
    """Every file that is not a lock."""
    return {str(path): path.read_bytes() for path in run.rglob("*") if path.is_file() and path.name != ".lock"}


def last(run: Path) -> int:
    return files.latest_valid(run)[0].state["update"]


def test_a_run_that_was_moved_goes_on_where_it_is(run, trained, monkeypatch):
    monkeypatch.chdir(run.parent)
    moved = run.rename(run.with_name("moved [it]"))
    code, said, _ = regard("train", "--run", moved.name, "--resume", "training.max_updates=4")
    assert code == 0, said
    assert (last(moved), last(trained)) == (4, 2)
    assert "regard predict 'moved [it]' " in " ".join(said.split())


def test_what_was_changed_is_kept_for_the_next_time(run):
    assert regard("train", "--run", run, "--resume", "training.max_updates=3", "--quiet")[0] == 0
    assert Run.open(run).experiment.training.max_updates == 3
    assert regard("train", f"run={run}", "--resume", "--quiet")[0] == 0
    assert last(run) == 3


def test_settings_are_read_and_verified_once(run, monkeypatch):
    counts = Counter[str]()
    for name, read in (("read_yaml", opening.read_yaml), ("verify", opening.verify)):

        def counted(path, name=name, read=read):
            counts[name] += 1
            return read(path)

        monkeypatch.setattr(opening, name, counted)
    assert regard("train", run, "--resume", "training.max_updates=3", "--quiet")[0] == 0
    assert counts == {"read_yaml": 1, "verify": 1}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("text.tokenizer.size=400", "text.tokenizer.size: cannot change in a run that has begun: 300 → 400"),
        ("training.metric=chrf", "training.metric: cannot change"),
        ("model.dim=32", "model: the trained weights do not fit after dim: 16 → 32 (start another one"),
        ("model.init_uniform=0.1", "model.init_uniform: cannot change in a run that has begun: nothing → 0.1"),
        ("training.optimizer={name: sgd, momentum: 0.5}", "training.optimizer: cannot change"),
        (
            "training.turns={model: {optimizer: adamw}}",
            "training.turns.model.optimizer: cannot change in a run that has begun: adam → adamw",
        ),
        ("data.max_length=9", "data.max_length: cannot change in a run that has begun: 256 → 9"),
        (
            "data.dev_fraction=0.3",
            "data.dev_fraction: cannot change in a run that has begun: 0.05 → 0.3 of the training",
        ),
        ("training.batch_tokens=99", "training.batch_tokens: cannot change"),
        ("training.batch_sentences=9", "training.batch_sentences: cannot change in a run that has begun: nothing → 9"),
        ("training.accumulate=2", "training.accumulate: cannot change"),
        ("training.seed=2", "training.seed: cannot change in a run that has begun: 1 → 2"),
    ],
)
def test_what_does_not_go_with_the_weights_is_refused_and_not_kept(run, change, told):
    before = content(run)
    code, said, _ = regard("train", "--run", run, "--resume", "training.max_updates=3", change, "--quiet")
    assert (code, told in said, said.count("error:")) == (2, True, 1), said
    assert content(run) == before


def test_all_that_is_refused_is_told_at_once_and_the_run_goes_on_without_it(run):
    changes = ["model.dropout=0.7", "model.dim=32", "data.max_length=9", "training.seed=2"]
    code, said, _ = regard("train", "--run", run, "--resume", *changes, "--quiet")
    assert (code, said.count("error:")) == (2, 3), said
    assert "model: the trained weights do not fit after dim: 16 → 32, dropout: 0.3 → 0.7 (" in said
    assert regard("train", "--run", run, "--resume", "training.max_updates=3", "--quiet")[0] == 0
    assert (last(run), Run.open(run).experiment.model.settings["dropout"]) == (3, 0.3)


def test_what_may_change_is_told(run):
    plateau = "training.schedule={name: plateau, patience: 1}"
    changes = ["training.max_updates=3", "model.dropout=0.2", "training.patience=null", plateau]
    code, said, _ = regard("train", "--run", run, "--resume", *changes)
    assert code == 0, said
    told = [line for line in said.splitlines() if "→" in line and not line.startswith(" ")]
    assert told[:2] == ["model.dropout: 0.3 → 0.2", "training.max_updates: 2 → 3"]
    assert told[2].startswith("training.schedule: {name: inverse_sqrt, warmup: ")
    assert told[2].endswith(" → {name: plateau, factor: 0.5, patience: 1, warmup: 0, stop: 0.0}")
    assert told[3:] == ["training.patience: 10 → nothing"]


def edited(file: Path, folder: Path, *, more: str = "") -> Path:
    copied = folder / f"copied.{file.name}"
    copied.write_text(file.read_text("utf-8") + more, encoding="utf-8")
    return copied


def test_a_text_that_was_moved_is_the_same(run, trained, tmp_path):
    moved = edited(trained.parent / "a.en", tmp_path)
    code, said, _ = regard("train", "--run", run, "--resume", "training.max_updates=3", f"data.train.source={moved}")
    assert (code, last(run)) == (0, 3)
    assert f"data.train.files.source: {trained.parent / 'a.en'} → {moved}" in said


def test_a_text_that_was_edited_is_refused(run, trained, tmp_path):
    sides = [edited(trained.parent / name, tmp_path, more="new\n") for name in ("a.en", "a.de")]
    before = content(run)
    changes = [f"data.train.source={sides[0]}", f"data.train.target={sides[1]}", "training.max_updates=3"]
    code, said, _ = regard("train", "--run", run, "--resume", *changes)
    assert (code, content(run), said.count("error:")) == (2, before, 2)
    told = "cannot change in a run that has begun, and '{}' has changed since then"
    assert all(
        f"data.train.{name}: {told.format(side)}" in said
        for name, side in zip(("source", "target"), sides, strict=True)
    )


def test_another_dev_part_is_refused(tmp_path):
    sides = write_texts(tmp_path)
    dev = ["--dev-source", sides[1], "--dev-target", sides[3]]
    assert regard("train", *SMALL, *sides, *dev, "--run", tmp_path / "run", "--quiet")[0] == 0
    changed = edited(tmp_path / "a.en", tmp_path, more="")
    changed.write_text(changed.read_text("utf-8").upper(), encoding="utf-8")
    code, said, _ = regard("train", "--run", tmp_path / "run", "--resume", f"data.dev.source={changed}")
    assert (code, f"data.dev.source: cannot change in a run that has begun, and '{changed}'" in said) == (2, True), said


def test_a_dev_part_that_puts_back_what_was_held_out_is_refused(run, trained):
    files_of = [f"data.dev.{name}={trained.parent / file}" for name, file in (("source", "a.en"), ("target", "a.de"))]
    code, said, _ = regard("train", "--run", run, "--resume", *files_of)
    assert (code, "data.dev_fraction: cannot change" in said, "0.05 → 0 of the training texts" in said) == (
        2,
        True,
        True,
    )


def test_a_run_without_checkpoints_says_that_it_begins_anew(run):
    shutil.rmtree(run / files.FOLDER)
    code, said, _ = regard("train", "--run", run, "--resume", "--quiet")
    assert (code, last(run)) == (0, 2)
    assert said == f"warning: {run} has no checkpoint: training starts from the beginning\n"


def test_a_run_folder_that_vanished_is_told(tmp_path, monkeypatch):
    run = tmp_path / "run"
    monkeypatch.setattr(RunFolder, "keep", lambda folder, *_: shutil.rmtree(folder.path))
    code, said, _ = regard("train", *SMALL, *write_texts(tmp_path), "--run", run, "--quiet")
    assert (code, f"error: {run}: the run folder is gone" in said, run.exists()) == (2, True, False)


@pytest.mark.parametrize("name", ["gpu", "GPU 1", "cuda:x", "meta", ""])
def test_a_device_that_does_not_exist_is_told_with_those_that_do(tmp_path, name):
    code, said, _ = regard(
        "train", *SMALL, *write_texts(tmp_path), "--run", tmp_path / "run", f"device='{name}'", "--quiet"
    )
    told = f"error: device: there is no '{name}' (cpu, cuda, mps or auto; cuda:1 is the second GPU)\n"
    assert (code, said, (tmp_path / "run").exists()) == (2, told, False)


def test_a_model_slimmed_for_serving_translates(run):
    for folder in files.steps(run):
        (folder / files.OPTIMIZERS_FILE).unlink()
    done = CliRunner().invoke(app, ["predict", str(run)], input="a dog runs\n")
    assert (done.exit_code, done.stdout.count("\n")) == (0, 1), done.stderr


def test_another_schedule_begins_anew(run):
    schedule = "training.schedule={name: plateau, patience: 1}"
    assert regard("train", "--run", run, "--resume", "training.max_updates=3", schedule, "--quiet")[0] == 0
    assert last(run) == 3


def test_to_resume_needs_a_run():
    code, said, _ = regard("train", "--resume")
    assert (code, said) == (2, "error: --resume: needs the run to resume (--run FOLDER)\n")


def test_a_run_is_trained_by_one_process_at_a_time(run):
    with RunFolder(run).held():
        code, said, _ = regard("train", "--run", run, "--resume", "--quiet")
    assert code == 2
    assert "is being trained by another process" in said
    assert regard("train", "--run", run, "--resume", "--quiet")[0] == 0


@pytest.mark.parametrize(
    ("optimizer", "told"), [("{name: adam, betas: [0.9, 1.5]}", "beta"), ("{name: sgd, nesterov: true}", "momentum")]
)
def test_numbers_an_optimizer_refuses_are_told_before_anything_is_written(tmp_path, optimizer, told):
    code, said, _ = regard(
        "train", *SMALL, *write_texts(tmp_path), "--run", tmp_path / "run", f"training.optimizer={optimizer}"
    )
    assert (code, said.count("error: training.optimizer"), (tmp_path / "run").exists()) == (2, 1, False)
    assert told in said


def test_a_schedule_of_nothing_is_told_before_anything_is_written(tmp_path):
    schedules = "training.schedules={objective.foo: constant}"
    code, said, _ = regard("train", *SMALL, *write_texts(tmp_path), "--run", tmp_path / "run", schedules)
    assert (code, said.count("\n"), (tmp_path / "run").exists()) == (2, 1, False)
    assert "error: training.schedules.objective.foo: names no number" in said


def test_a_full_disk_while_a_run_is_prepared_leaves_nothing(tmp_path, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(28, os.strerror(28))

    words = [*SMALL, *write_texts(tmp_path), "--run", tmp_path / "run", "--quiet"]
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        code, said, _ = regard("train", *words)
    assert (code, (tmp_path / "run").exists()) == (2, False)
    assert "cannot be prepared: No space left on device" in said
    assert regard("train", *words)[0] == 0


def test_empty_dev_lines_are_told_by_number(tmp_path):
    (tmp_path / "dev.en").write_text("a dog\n\nyes\n")
    (tmp_path / "dev.de").write_text("ein Hund\nja\nja\n")
    dev = ["--dev-source", tmp_path / "dev.en", "--dev-target", tmp_path / "dev.de"]
    code, said, _ = regard("train", *SMALL, *write_texts(tmp_path), *dev, "--run", tmp_path / "run")
    assert code == 0
    assert "dev.en: 1 dev examples are empty on a side and left out (lines 2)" in " ".join(said.split())


def test_no_dev_part_is_told_and_the_last_update_is_kept(tmp_path):
    code, said, _ = regard("train", *SMALL, *write_texts(tmp_path), "--run", tmp_path / "run", "data.dev_fraction=0")
    assert code == 0
    assert "no dev set" in said
    assert json.loads((tmp_path / "run" / "final.json").read_text())["checkpoint"] == "step-00000002"


def says_how_to_go_on(code, said, run):
    assert code == 75, said
    assert f"resume with: regard train --run '{run}' --resume" in said
    assert last(run) >= 1
    assert load_experiment(run / "experiment.yaml").training.max_updates == 100000


LONG = ["training.max_updates=100000", "training.log_every=1"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_says_how_to_go_on_and_exits_with_75(tmp_path, number, monkeypatch):
    run, update = tmp_path / "my run", Updater.update

    def interrupted(updater, batches, done):
        signal.raise_signal(number)
        return update(updater, batches, done)

    monkeypatch.setattr(Updater, "update", interrupted)
    ended = regard("train", *SMALL, *write_texts(tmp_path), "--run", run, *LONG)
    says_how_to_go_on(ended.code, ended.said, run)


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM])
def test_interrupted_process_ends_with_75(tmp_path, number):
    run = tmp_path / "my run"
    words = [*SMALL, *write_texts(tmp_path), "--run", str(run), *LONG]
    with subprocess.Popen([sys.executable, "-m", "regard", "train", *words], stderr=subprocess.PIPE, text=True) as work:
        said = ""
        while "update 1 " not in said:
            said = work.stderr.readline()
            assert said, "it ended by itself"
        work.send_signal(number)
        rest = work.stderr.read()
        code = work.wait(timeout=60)
    says_how_to_go_on(code, rest, run)
