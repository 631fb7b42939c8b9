"""One step of a model in small, before anything is written: what cannot work is told at once."""

from typing import Any

import torch

from regard.errors import ConfigError, RegardError
from regard.experiment import Experiment
from regard.registry import Choice
from regard.runs.assembly import model_of, objective_of, task_of
from regard.tasks import Task
from regard.text import train_tokenizer
from regard.training.driven import Driven
from regard.training.optimizers import OPTIMIZERS

TEXT = "ab"  # what can be wrong with shapes does not depend on how many pieces there are


def rehearse(experiment: Experiment) -> None:
    """Builds the model, takes a loss and predicts. Raises ConfigError for parts that do not fit."""
    try:
        task = small_task(experiment)
        model = model_of(experiment, task).eval()
        objective = objective_of(experiment, model)
        batch, *_ = task.held({column: [TEXT, TEXT[::-1]] for column in experiment.columns}, tokens=64)
        objective.loss(model, batch, "model")
        Driven(experiment.training, model, objective)
        with torch.inference_mode():
            task.predict(model, batch)
        _rehearse_optimizer(experiment, model)
    except RegardError:
        raise
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        problem = f"its parts do not fit together: {(str(error) or repr(error)).splitlines()[0]}"
        raise ConfigError("model", problem, "look at the dims of encoder, decoder and attention") from error


def _rehearse_optimizer(experiment: Experiment, model: Any) -> None:
    choice = experiment.training.optimizer
    try:
        OPTIMIZERS.build(choice, model.parameters())
    except ValueError as error:  # torch checks its numbers itself
        problem = str(error).splitlines()[0]
        raise ConfigError("training.optimizer", f"{choice.name}: {problem[:1].lower()}{problem[1:]}") from error


def small_task(experiment: Experiment) -> Task:
    """The task with a vocabulary that is learnt at once."""
    tokenizer = train_tokenizer(Choice("characters"), [TEXT])
    return task_of(experiment, dict.fromkeys(experiment.columns, tokenizer))
