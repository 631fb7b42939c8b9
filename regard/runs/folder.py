"""A run folder: everything that a model came from and is.

experiment.yaml   the complete settings
environment.json  versions, device and threads it was made with
origins.json      what its texts were, by their content
text/             what columns have learnt: tokenizers (`shared`, or one a column) and labels
data/             the memory-mapped training corpus
checkpoints/      see regard.training.checkpoint
metrics.jsonl     one JSON object per line of the log
final.json        which checkpoint to use, once training has ended
"""

import fcntl
import json
import os
import platform
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from regard.config import write_atomically
from regard.data.columns import Columns, load_columns
from regard.errors import CheckpointError, ConfigError, RegardError
from regard.experiment import SETTINGS_FILE, Experiment, load_experiment, settings_file
from regard.training import checkpoint as files
from regard.training.best_checkpoints import FINAL

ENVIRONMENT, ORIGINS, LOCK = "environment.json", "origins.json", ".lock"
DEVICES = ("cpu", "cuda", "mps")


class RunFolder:
    """The places in a run folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text, self.data = path / "text", path / "data"

    def __str__(self) -> str:
        return str(self.path)

    @property
    def exists(self) -> bool:
        """Whether there is anything at that place."""
        return self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir()))

    @property
    def started(self) -> bool:
        """Whether training has saved anything, whole or not."""
        return bool(files.steps(self.path))

    @property
    def finished(self) -> bool:
        """Whether training has ended by itself."""
        return (self.path / FINAL).is_file()

    @contextmanager
    def preparing(self, experiment: Experiment) -> Iterator[None]:
        """A new folder, which is gone again if what is done inside fails."""
        self.create(experiment)
        try:
            yield
        except OSError as error:  # a full disk, most of all; files that cannot be read are told by their readers
            shutil.rmtree(self.path, ignore_errors=True)
            raise RegardError(f"{self.path}: the run cannot be prepared: {error.strerror or error}") from error
        except BaseException:
            shutil.rmtree(self.path, ignore_errors=True)
            raise

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else trains in here meanwhile. Raises ConfigError if somebody does; the lock dies with its process."""
        with (self.path / LOCK).open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                problem = f"'{self.path}' is being trained by another process"
                raise ConfigError("run", problem, "wait for its end, or stop it") from error
            yield

    def create(self, experiment: Experiment) -> None:
        """Makes the folder and writes the settings. Raises ConfigError where something is there already."""
        if self.exists:
            hint = f"choose another run=FOLDER, or go on with: regard train --run {self.path} --resume"
            raise ConfigError("run", f"'{self.path}' exists and is not empty", hint)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            experiment.save(self.path / SETTINGS_FILE)
            (self.path / ENVIRONMENT).write_text(json.dumps(environment(), indent=1), encoding="utf-8")
        except OSError as error:
            raise RegardError(f"{self.path}: the run folder cannot be made: {error.strerror or error}") from error

    def keep(self, experiment: Experiment) -> None:
        """Settings that were changed when the run was resumed are those of the run from now on."""
        if experiment != self.experiment():
            experiment.save(self.path / SETTINGS_FILE)

    def origins(self) -> dict[str, Any]:
        """What its texts were when it began; nothing of a run that has not noted it."""
        try:
            found: dict[str, Any] = json.loads((self.path / ORIGINS).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise CheckpointError(self.path / ORIGINS, f"cannot be read: {error}") from error
        return found

    def note_origins(self, origins: dict[str, Any]) -> None:
        """What its texts are, for those who want to go on with it."""
        write_atomically(self.path / ORIGINS, json.dumps(origins, indent=1))

    def experiment(self, changes: list[str] | None = None) -> Experiment:
        """The settings the run was made with, with changes; it is where it is found. CheckpointError: there is none."""
        return replace(load_experiment(settings_file(self.path), changes or []), run=self.path)

    def columns(self, experiment: Experiment) -> Columns:
        """As they were saved. Raises CheckpointError."""
        return load_columns(experiment.columns, self.text, shared=experiment.text.shared)

    def checkpoint(self) -> files.Checkpoint:
        """The one that training ended with; while it has not ended, the best so far, or the latest."""
        final = self.path / FINAL
        try:
            if final.is_file():
                name = json.loads(final.read_text(encoding="utf-8"))["checkpoint"]
                return files.load(self.path / files.FOLDER / Path(name).name, training=False)
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise CheckpointError(final, f"cannot be read: {error}", "the run's checkpoints may be whole") from error
        latest, _ = files.latest_valid(self.path, training=False)
        for _, update, *_ in latest.state["best"]["ranked"][:1]:
            return files.load(files.step_folder(self.path, update), training=False)
        return latest

    def changed_environment(self) -> list[str]:
        """What is not as it was when the run began: its weights may then differ in their last bits."""
        try:
            before = json.loads((self.path / ENVIRONMENT).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return []
        pairs = [(name, before.get(name, now), now) for name, now in environment().items()]
        return [f"{name} was {then}, is {now}" for name, then, now in pairs if then != now]


def environment() -> dict[str, Any]:
    """What decides the last bits of a result."""
    return {
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "cores": os.cpu_count(),
    }


def choose_device(name: str) -> torch.device:
    """`auto` is a GPU where there is one. Raises ConfigError for a device that is not there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind, _, number = name.partition(":")
    if kind not in DEVICES or (number and not number.isdecimal()):
        raise ConfigError("device", f"there is no '{name}'", f"{', '.join(DEVICES)} or auto; cuda:1 is the second GPU")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        problem = f"'{name}' cannot be used here: {str(error).splitlines()[0]}"
        raise ConfigError("device", problem, "auto or cpu") from error
    return device
