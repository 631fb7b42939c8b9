"""A training of each config that is interrupted goes on as if it had not been: equal to the last bit."""

import re
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from small_configs import CONFIGS, small

from regard.experiment import Experiment, read_experiment
from regard.objectives import OBJECTIVES
from regard.registry import Registry
from regard.runs import Run, RunFolder, train_run
from regard.training import checkpoint as files
from regard.training.optimizers import OPTIMIZERS
from regard.training.updater import Updater

ROWS = [(table, name) for table in (OBJECTIVES, OPTIMIZERS) for name in table]
# of a checkpoint's state: times, and bytes of a log of times
CLOCKS = {"seconds", "core_seconds", "validation_seconds", "window", "metrics"}


def shortest(table: Registry[Any], name: str) -> Path:
    """The shortest config that names a row of a table."""
    says = re.compile(rf"{table.place.rpartition('.')[2]}:\s*\{{?\s*(name:\s*)?{name}\b")
    return min((path for path in CONFIGS if says.search(path.read_text("utf-8"))), key=lambda path: path.stat().st_size)


def checkpoint(experiment: Experiment) -> files.Checkpoint:
    return files.latest_valid(RunFolder(experiment.run).path)[0]


def check_resumed(path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = [*small(path, folder), "training.max_updates=2", "device=cpu"]
    whole, broken = (read_experiment(path, [*changes, f"run={folder / name}"]) for name in ("whole", "broken"))
    assert train_run(whole, quiet=True)
    update = Updater.update

    def interrupted(updater, batches, number):
        signal.raise_signal(signal.SIGINT)
        return update(updater, batches, number)

    with monkeypatch.context() as patch:
        patch.setattr(Updater, "update", interrupted)
        ended = train_run(broken, quiet=True)
    torch.manual_seed(0)  # what the process has drawn meanwhile must not matter
    counted = checkpoint(whole).state["update"] == 0  # a model of counts is whole before the first update
    assert (ended is not None) == counted
    assert train_run(Run.open(broken.run).experiment, resume=True, quiet=True)
    one, other = checkpoint(whole), checkpoint(broken)
    for group in ("model", "objective", "optimizers", "generators"):
        wanted, found = getattr(one, group), getattr(other, group)
        assert found.keys() == wanted.keys()
        assert [name for name in wanted if not torch.equal(found[name], wanted[name])] == []
    states = ({name: value for name, value in each.state.items() if name not in CLOCKS} for each in (one, other))
    assert next(states) == next(states)


@pytest.mark.parametrize(("table", "name"), ROWS, ids=lambda value: value if isinstance(value, str) else value.place)
def test_each_objective_and_optimizer_goes_on_bitwise(table, name, tmp_path, monkeypatch):
    check_resumed(shortest(table, name), tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_config_goes_on_bitwise(path, tmp_path, monkeypatch):
    check_resumed(path, tmp_path, monkeypatch)
