"""Settings and tokenizers → a model and its task."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import nn

from regard.decoding import FEATURES, SEARCHES, Feature, GreedySearch, Search
from regard.experiment import DecodingSettings, Experiment
from regard.objectives import OBJECTIVES, Objective, PenalisedObjective, build_penalties
from regard.runs.folder import RunFolder, choose_device
from regard.tasks import TASKS, Task
from regard.text import Tokenizer
from regard.training import checkpoint as files


class Assembled(NamedTuple):
    """A model of a run with its weights, and what it is for."""

    model: Any
    task: Task
    experiment: Experiment


def assemble(folder: RunFolder, changes: list[str] | None = None) -> Assembled:
    """The model of a run folder as it is to be used. Raises CheckpointError where it is damaged, foreign or missing."""
    experiment = folder.experiment(changes)
    task = task_of(experiment, folder.tokenizers(experiment))
    model = model_of(experiment, task)
    files.load_model(model, folder.checkpoint())
    return Assembled(model.to(choose_device(experiment.device)).eval(), task, experiment)


def model_of(experiment: Experiment, task: Task) -> Any:
    """With new weights, drawn from the seed."""
    torch.manual_seed(experiment.training.seed)
    return task.network(experiment.model)


def objective_of(experiment: Experiment, model: nn.Module) -> Objective:
    """What the model is trained to minimise, with the penalties of the settings."""
    objective = OBJECTIVES.build(experiment.objective, model)
    penalties = build_penalties(experiment.penalties)
    return PenalisedObjective(objective, penalties) if penalties else objective


def task_of(experiment: Experiment, tokenizers: Mapping[str, Tokenizer], *, quick: bool = False) -> Task:
    """The task of the settings, with their search, or a greedy one if it must be quick."""
    search, features = (GreedySearch(), list[Feature]()) if quick else searched_by(experiment.decoding)
    return TASKS.build(experiment.task, tokenizers, search, features)


def searched_by(settings: DecodingSettings) -> tuple[Search, list[Feature]]:
    """The search of the settings and its features."""
    return SEARCHES.build(settings.search), [FEATURES.build(choice) for choice in settings.features]
