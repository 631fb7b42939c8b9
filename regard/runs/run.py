"""An opened run: its settings, vocabularies and weights, verified once, with task and model."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

import torch

from regard.config import parse_json, read_checked, read_yaml, settings_file, settings_folder
from regard.data.columns import Columns, load_columns, of_language
from regard.data.manifest import has_manifest, verify, verify_file
from regard.data.sealed import SEAL
from regard.errors import CheckpointError, ConfigError
from regard.experiment import Experiment
from regard.experiment.complete_settings import saved_experiment
from regard.explain.alignment import AlignmentHead
from regard.models import MODELS, Model
from regard.objectives import build_penalties
from regard.ops.kernels.packing import set_precision
from regard.ops.modules import skip_init
from regard.registry import Choice
from regard.runs.folder import DECODING, TUNING, RunFolder, choose_device
from regard.runs.measurements import Measurements
from regard.tasks import TASKS, Task
from regard.training import checkpoint as files
from regard.training.shards import Tensors

LAST_SETTING = "format"  # the end of every settings file
EXPORTED = "export.json"  # in place of weights, in the run inside an export


class Assembled(NamedTuple):
    """The model of a run with its weights, and the task on the run's route."""

    model: Model
    task: Task
    run: "Run"

    def along(self, route: str) -> "Assembled":
        """Return the same model for a further language pair of the run."""
        run = self.run.along(route)
        return Assembled(self.model, routed(self.task, self.model, run.experiment), run)


@dataclass(frozen=True, eq=False)
class Run:
    """A run folder as it was when opened. Columns and weights are read once, on first use."""

    folder: RunFolder
    settings: Mapping[str, Any]  # of the settings file
    experiment: Experiment  # with the changes, for one language pair; its run is this folder
    changes: tuple[str, ...] = ()
    route: str = ""  # name of the further language pair that it is opened for; "": that of data.train

    @classmethod
    def open(cls, path: Path | str | RunFolder, changes: Iterable[str] = ()) -> "Run":
        """Read the settings of a run, with changes, and verify its files.

        Raises CheckpointError where settings are missing, where a file of the run has changed, and for a run of a newer
        format.
        """
        folder = path if isinstance(path, RunFolder) else RunFolder(settings_folder(Path(path)))
        changes = tuple(changes)
        file = settings_file(folder.path)
        folder.check_format()
        verify(folder.path)
        settings = read_yaml(file)
        if not has_manifest(folder.path) and LAST_SETTING not in settings:
            problem = f"is not a complete settings file: its last line, '{LAST_SETTING}', is missing"
            raise CheckpointError(file, problem, "take it from a copy of the run")
        run = cls(folder, settings, _experiment_of(folder, settings, changes), changes)
        return run if run.experiment.decoding.route is None else run.along(run.experiment.decoding.route)

    def changed(self, changes: Iterable[str]) -> "Run":
        """Return the same run with only these changes; its files are neither read nor verified again."""
        changes = tuple(changes)
        run = self._with(experiment=_experiment_of(self.folder, self.settings, changes), changes=changes, route="")
        return run if run.experiment.decoding.route is None else run.along(run.experiment.decoding.route)

    def along(self, route: str) -> "Run":
        """Return the same run for a language pair. Raises ConfigError for an unknown name."""
        further = route if route in self.experiment.data.routes else ""
        return self._with(experiment=self.experiment.along(route), route=further)

    def _with(self, **values: Any) -> "Run":
        """Return the run with other values; data read so far is kept, except vocabularies of another task or text."""
        found, before = replace(self, **values), self.experiment
        alike = (found.experiment.task, found.experiment.text) == (before.task, before.text)
        kept = ("checkpoint", "vocabularies") if alike else ("checkpoint",)
        vars(found).update({name: value for name, value in vars(self).items() if name in kept})
        return found

    @property
    def path(self) -> Path:
        """Path of the folder."""
        return self.folder.path

    @cached_property
    def vocabularies(self) -> Columns:
        """Saved columns, those of single languages included. Raises CheckpointError."""
        return load_columns(self.experiment.vocabularies, self.folder.text, shared=self.experiment.text.shared)

    @cached_property
    def columns(self) -> Columns:
        """Columns of the language pair."""
        return of_language(self.vocabularies, self.experiment.data.language_pair()[1])

    @cached_property
    def exported(self) -> Mapping[str, Any] | None:
        """Format, SHA-256 of the weights and more of the export that the folder is in; None for any other run."""
        file = self.path / EXPORTED
        try:
            return read_checked(file) if file.is_file() else None
        except (OSError, ValueError) as error:
            raise CheckpointError(file, f"is damaged: {error}", "export the run again") from error

    @cached_property
    def checkpoint(self) -> files.Checkpoint:
        """The selected checkpoint, verified; `weights` has its tensors. Raises CheckpointError where there is none."""
        if self.exported is not None:
            kind = self.exported["format"]
            hint = f"--engine {kind} with predict and serve; for anything else name the run that was exported"
            raise CheckpointError(self.path.parent, f"is an export to {kind}, whose weights only {kind} reads", hint)
        return self.folder.checkpoint()._replace(model={})

    @cached_property
    def weights_digest(self) -> str:
        """SHA-256 of the selected weights, from the seal of their checkpoint; of an export those of its run."""
        if self.exported is not None:
            return str(self.exported["sha256_of_weights"])
        seal = parse_json((self.checkpoint.folder / SEAL).read_text(encoding="utf-8"))
        return str(seal["files"][files.MODEL_FILE][1])

    @cached_property
    def measurements(self) -> Measurements:
        """Measurements with these weights."""
        return Measurements(self.path, lambda: self.weights_digest)

    def weights(self) -> Tensors:
        """Return the selected tensors by name."""
        return files.weights_of(self.checkpoint)

    def task(self) -> Task:
        """Return the task with the columns of the language pair; no weights are read."""
        return task_of(self.experiment, self.columns)

    def assembled(self) -> Assembled:
        """Build the model for prediction. Raises CheckpointError where it is damaged, foreign or missing."""
        experiment = self.experiment
        with skip_init():  # the checkpoint has every weight
            model = model_of(experiment, self.vocabularies)
        files.load_model(model, self.checkpoint._replace(model=self.weights()))
        model.to(choose_device(experiment.device)).eval()
        set_precision(model, experiment.decoding.precision)
        return Assembled(model, routed(task_of(experiment, self.vocabularies), model, experiment), self)


def model_of(experiment: Experiment, columns: Columns) -> Model:
    """Build a model with weights initialised from the seed; `columns` are all vocabularies of the run."""
    torch.manual_seed(experiment.training.seed)
    return MODELS.build(experiment.model, columns)


def task_of(experiment: Experiment, columns: Columns) -> Task:
    """Build the task of the settings. Raises ConfigError for raw text where no words are tagged."""
    task = experiment.task
    if experiment.decoding.raw_text:  # in place of what was saved when the model was trained
        if "raw_text" not in TASKS.model(task.name).model_fields:
            named = "" if experiment.run is None else f", and {experiment.run} is a run of the task '{task.name}'"
            raise ConfigError("decoding.raw_text", f"is for taggers, which read words{named}", "leave it out")
        task = Choice(task.name, {**task.settings, "raw_text": True})
    return TASKS.build(task, columns)


def routed(task: Task, model: Model, experiment: Experiment) -> Task:
    """Return the task on the route of the settings' target language, with its trained alignment head."""
    route = model.route(experiment.data.language_pair()[1])
    heads = [one.trained_head(model, route) for one in build_penalties(experiment.penalties).values()]
    return task.along(route, next((AlignmentHead(*one) for one in heads if one is not None), None))


def _experiment_of(folder: RunFolder, settings: Mapping[str, Any], changes: Iterable[str]) -> Experiment:
    """Return the settings of a run with changes, at its folder's path, with the other runs that it predicts with."""
    found = replace(saved_experiment(settings, changes, partial(_tuned, folder)), run=folder.path)
    return replace(found, decoding=found.decoding.located(folder.path))


def _tuned(folder: RunFolder) -> list[str]:
    """Return the results of `regard tune`, as changes. Raises CheckpointError where there are none."""
    path = folder.path / TUNING / DECODING
    if not path.is_file():
        raise CheckpointError(path, "is missing", f"tune the run first: regard tune {quote(str(folder))}")
    verify_file(path, f"make it again: regard tune {quote(str(folder))}")
    return [f"decoding.{name}={json.dumps(value)}" for name, value in read_yaml(path).items()]
