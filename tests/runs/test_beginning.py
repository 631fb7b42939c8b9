"""A run begins once: whoever comes second, or after a process that was killed, harms nobody and is told what to do."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from small_runs import SMALL, regard, unsaid, write_texts

from regard import load
from regard.config.atomic_write import is_unfinished
from regard.errors import ConfigError, RegardError
from regard.runs import Run, RunFolder, train_run
from regard.runs.folder import LOCK, locked

SETTINGS, LEARNT = ["experiment.yaml"], ["environment.json", "origins.json", "text", "manifest.json"]


@pytest.fixture
def words(tmp_path):
    return [*SMALL, *write_texts(tmp_path), "--run", tmp_path / "run", "--quiet"]


@pytest.fixture
def run(tmp_path):
    return tmp_path / "run"


def test_what_a_killed_process_was_writing_is_cleared_away(run, words):
    run.mkdir()
    for name in (LOCK, ".experiment.yaml.123.new", "..experiment.yaml.9.new.9.new"):
        (run / name).touch()
    assert unsaid(regard("train", run, "--resume"), "is not a run folder") == []
    assert regard("train", *words).code == 0
    (run / ".final.json.123.new").touch()
    assert regard("train", run, "--resume", "--quiet").code == 0
    assert [path for path in run.rglob("*") if is_unfinished(path)] == []


@pytest.mark.parametrize("kept", [SETTINGS, [*SETTINGS, *LEARNT]])
def test_who_was_killed_while_he_prepared_begins_anew(run, words, kept):
    """With other settings, too, as nothing rests on the first ones yet."""
    assert regard("train", *words).code == 0
    for path in run.iterdir():
        if path.name not in kept:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert unsaid(regard("train", *words), "exists and is not empty", f"regard train --run {run} --resume") == []
    assert regard("train", run, "--resume", "--quiet", "text.tokenizer.size=290").code == 0
    assert len(load(run).task.vocabularies["source"]) <= 290
    assert {"environment.json", "origins.json", "manifest.json"} <= {path.name for path in run.iterdir()}


def test_who_comes_second_deletes_nothing(run, words):
    with RunFolder(run).created():
        assert unsaid(regard("train", *words), "is being trained by another process") == []
        assert [path.name for path in run.iterdir()] == [LOCK]
        (run / "experiment.yaml").touch()
        assert unsaid(regard("train", *words), "exists and is not empty") == []
        assert len(list(run.iterdir())) == 2


def test_a_folder_that_is_no_run_is_not_sent_to_resume(run, words):
    (run / "text").mkdir(parents=True)
    done = regard("train", *words)
    assert unsaid(done, "exists and is not empty", "choose another folder, or empty it") == []
    assert [path.name for path in run.iterdir()] == ["text"]
    (run.parent / "file").touch()
    done = regard("train", *words, "--run", run.parent / "file" / "below")
    assert unsaid(done, "run: ", "cannot be made: Not a directory", "choose another folder") == []


def test_a_lock_that_was_removed_with_its_folder_is_none(tmp_path):
    """Between the opening of the lock and its locking, its holder removes it, and a third one makes another."""
    with locked(tmp_path), (tmp_path / LOCK).open("ab"):
        (tmp_path / LOCK).unlink()
        with locked(tmp_path), pytest.raises(ConfigError), locked(tmp_path):
            pass


def test_what_fails_leaves_nothing_and_frees_the_folder(run, words, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "seal", lambda folder: (_ for _ in ()).throw(RegardError("no")))
        assert unsaid(regard("train", *words), "no") == []
    assert not run.exists()
    assert regard("train", *words).code == 0


def test_who_is_killed_while_what_failed_is_removed_can_begin_or_resume(run, words, monkeypatch):
    removed = []
    real = Path.unlink

    def unlink(path, missing_ok=False):
        if len(removed) == 3:
            raise PermissionError
        removed.append(path.name)
        real(path, missing_ok=missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "seal", lambda folder: patch.setattr(Path, "unlink", unlink) or 1 / 0)
        with pytest.raises(ZeroDivisionError):
            regard("train", *words)
    assert (removed[0], (run / "experiment.yaml").exists()) == ("manifest.json", True)
    assert regard("train", run, "--resume", "--quiet").code == 0


def test_a_folder_whose_name_is_no_text_is_trained_resumed_and_opened(tmp_path):
    run, words = tmp_path / os.fsdecode(b"d\xff"), [*SMALL, *write_texts(tmp_path)]
    command = [sys.executable, "-m", "regard", "train", *words, "--run", run]
    done = subprocess.run([*map(os.fsencode, command)], capture_output=True, check=False)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr.decode(errors="replace")
    predicted = regard("predict", run, given="a dog\n")
    assert (predicted.code, predicted.printed.count("\n")) == (0, 1), predicted.said
    assert train_run(Run.open(run, ["training.max_updates=3"]).experiment, resume=True, quiet=True)
    assert len(load(run).predict(["a dog"])) == 1
