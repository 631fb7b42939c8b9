"""The models of several runs, which write together."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from regard.errors import ConfigError
from regard.experiment import DecodingSettings
from regard.models import Generator, Model
from regard.models.ensemble import Ensemble
from regard.runs import Run
from regard.tasks import Task

SETTING = "decoding.ensemble"


def with_others(model: Model, task: Task, settings: DecodingSettings, changes: Sequence[str]) -> Model:
    """The model itself, or one with those of the runs of the settings. Raises ConfigError where they do not fit."""
    if not settings.ensemble:
        return model
    if task.contract is not Generator:
        problem = "joins networks that write a text word by word in one pass, and this one does not"
        raise ConfigError(SETTING, problem, "leave it out")
    others = [_member(run, changes, task) for run in settings.ensemble]
    return Ensemble([cast(Generator, one) for one in (model, *others)], settings.ensemble_mean)


def _member(run: Path, changes: Sequence[str], task: Task) -> Model:
    model, other, _ = Run.open(run, changes).assembled()
    if type(other) is not type(task):
        raise ConfigError(SETTING, f"'{run}' was trained for another task", "join runs of one task")
    if other.route != task.route:
        problem = f"'{run}' tells other languages apart, and members are asked for the same one by name"
        raise ConfigError(SETTING, problem, "join runs of the same model.languages")
    for name, column in task.vocabularies.items():
        if other.vocabularies[name].key() != column.key():
            problem = f"'{run}' has another vocabulary of the {name}, and members share theirs"
            raise ConfigError(SETTING, problem, "train them on the same texts with the same text.tokenizer")
    return model
