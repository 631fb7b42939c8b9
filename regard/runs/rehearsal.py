"""One step of a model in small, before anything is written: what cannot work is told at once."""

import torch

from regard.data.columns import example_values, small_columns
from regard.errors import ConfigError, RegardError
from regard.experiment import Experiment
from regard.models import Model
from regard.runs.assembly import engine_of, model_of, objective_of, task_of
from regard.training.driven import Driven
from regard.training.optimizers import OPTIMIZERS


def rehearse(experiment: Experiment) -> None:
    """Builds the model, takes a loss and predicts. Raises ConfigError for parts that do not fit."""
    try:
        columns = small_columns(experiment.columns, shared=experiment.text.shared)
        task, model = task_of(experiment, columns), model_of(experiment, columns).eval()
        objective = objective_of(experiment, model, task)
        batch, *_ = task.held(example_values(experiment.columns), tokens=64)
        objective.loss(batch, "model")
        Driven(experiment.training, model, objective)
        with torch.inference_mode():
            task.predict(engine_of(experiment.decoding, model, task), batch)
        _rehearse_optimizer(experiment, model)
    except RegardError:
        raise
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        problem = f"its parts do not fit together: {(str(error) or repr(error)).splitlines()[0]}"
        raise ConfigError("model", problem, "look at the dims of encoder, decoder and attention") from error


def _rehearse_optimizer(experiment: Experiment, model: Model) -> None:
    choice = experiment.training.optimizer
    try:
        OPTIMIZERS.build(choice, model.parameters())
    except ConfigError:
        raise
    except ValueError as error:  # torch checks itself what goes together
        problem = str(error).splitlines()[0]
        raise ConfigError("training.optimizer", f"{choice.name}: {problem[:1].lower()}{problem[1:]}") from error
