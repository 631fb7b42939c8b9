"""A disk that is full: the earlier checkpoint stays, training goes on, and a later one is written."""

import errno
import os
import subprocess
import sys

import pytest
from torch import nn

from regard.errors import CheckpointError
from regard.objectives import Context, LikelihoodObjective
from regard.training import checkpoint as files
from regard.training.progress import Progress
from regard.training.settings import TrainingSettings
from regard.training.trainer import Trainer

LIMITED = """
import resource, sys
from pathlib import Path
from torch import nn
from regard.errors import CheckpointError
from regard.training import checkpoint as files

run = Path(sys.argv[1])
files.write(files.step_folder(run, 1), files.content_of(nn.Linear(100, 100)), {"update": 1})
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    files.write(files.step_folder(run, 2), files.content_of(nn.Linear(100, 100)), {"update": 2})
except CheckpointError as error:
    print(error)
"""


def full(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("where", ["save_file", "os.fsync", "seal", "publish"])
def test_the_earlier_checkpoint_stays_whole(saved, tmp_path, monkeypatch, where):
    before = {path.name: path.read_bytes() for path in saved.iterdir()}
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full) if where == "os.fsync" else patch.setattr(files, where, full)
        with pytest.raises(CheckpointError, match=r"step-00000006: could not be written: .*No space left.*disk full"):
            files.write(files.step_folder(tmp_path, 6), files.content_of(nn.Linear(1, 1)), {"update": 6})
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before
    assert files.latest_valid(tmp_path)[0].folder == saved


def test_a_real_limit(tmp_path):
    told = subprocess.run([sys.executable, "-c", LIMITED, tmp_path], capture_output=True, text=True, check=True).stdout
    assert "step-00000002: could not be written: " in told
    assert told.count("\n") == 1
    assert [path.name for path in (tmp_path / files.FOLDER).iterdir()] == ["step-00000001"]
    assert files.latest_valid(tmp_path)[0].state["update"] == 1


@pytest.fixture
def trainer(tiny, batches, tmp_path):
    def make(scores=(), **changes):
        told = iter(scores)
        settings = {"max_updates": 4, "validate_every": 1, "metric": "loss", "workers": 0, **changes}
        model = tiny()
        return Trainer(
            model,
            LikelihoodObjective(Context(model)),
            batches(),
            settings=TrainingSettings(**settings),
            run=tmp_path,
            validate=(lambda _: {"loss": next(told)}) if scores else None,
            progress=Progress(tmp_path, quiet=True),
        )

    return make


def refuse(monkeypatch, *updates):
    """The disk is full after these updates."""
    write = files.save_file

    def save_file(tensors, path):
        if any(f"step-{update:08d}" in str(path) for update in updates):
            full()
        write(tensors, path)

    monkeypatch.setattr(files, "save_file", save_file)


def test_training_goes_on_and_the_next_save_works(trainer, tmp_path, monkeypatch, capfd):
    refuse(monkeypatch, 2)
    report = trainer([4.0, 1.0, 3.0, 3.5, 9.0], keep_best=3).prepare().train()
    assert "warning" in (said := capfd.readouterr().err)
    assert "training goes on" in said
    assert (report.updates, report.checkpoint.name, report.score) == (4, "step-00000003", 3.0)
    assert [files.load_checkpoint(folder).state["update"] for folder in files.steps(tmp_path)] == [4, 3, 1]


def test_the_last_checkpoint_must_be_written(trainer, tmp_path, monkeypatch):
    refuse(monkeypatch, 4)
    with pytest.raises(CheckpointError, match="step-00000004"):
        trainer(save_every_minutes=0.0).prepare().train()
    assert files.latest_valid(tmp_path)[0].state["update"] == 3


def test_an_average_that_cannot_be_written_is_no_loss(trainer, monkeypatch, capfd):
    write = files.write
    monkeypatch.setattr(
        files, "write", lambda folder, *rest: full_error(folder) if folder.name == "average" else write(folder, *rest)
    )
    report = trainer([4.0, 1.0, 3.0, 3.5, 0.0]).prepare().train()
    assert (report.checkpoint.name, report.score) == ("step-00000002", 1.0)
    assert "the best is kept instead" in capfd.readouterr().err


def full_error(folder):
    raise CheckpointError(folder, "could not be written")


def test_a_log_that_cannot_be_written_does_not_end_training(tmp_path, monkeypatch, capfd, lines):
    progress = Progress(tmp_path, quiet=True)
    values = {"update": 1, "epoch": 0, "loss": 1.0}
    progress.update(values, "")
    opened = type(progress.path).open

    def half(path, *modes, **settings):
        with opened(path, *modes, **settings) as file:
            file.write('{"half')
        full()

    with monkeypatch.context() as patch:
        patch.setattr(type(progress.path), "open", half)
        progress.update(values, "")
        progress.update(values, "")
    progress.update({**values, "update": 2}, "")
    assert [line["update"] for line in lines(tmp_path)] == [1, 2]
    assert capfd.readouterr().err.count("training goes on") == 1
