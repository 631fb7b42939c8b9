"""One step of a model in small, before anything is written: what cannot work is told at once."""

from typing import Any

import torch

from regard.errors import ConfigError, RegardError
from regard.experiment import Experiment
from regard.models import ROUTE, build_translator
from regard.records import EOS, UNK, Batch, Sequences
from regard.runs.assembly import objective_of, searched_by
from regard.training.driven import Driven
from regard.training.optimizers import OPTIMIZERS

VOCAB = 8  # pieces; what can be wrong with shapes does not depend on how many there are


def rehearse(experiment: Experiment) -> None:
    """Builds the model, takes a loss and translates a sentence. Raises ConfigError for parts that do not fit."""
    try:
        model: Any = build_translator(experiment.model, VOCAB, VOCAB).eval()
        objective = objective_of(experiment, model)
        objective.loss(model, _batch(), "model")
        Driven(experiment.training, model, objective)
        search, features = searched_by(experiment.decoding)
        with torch.inference_mode():
            search.run(model, _batch(), features=features)
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


def _batch() -> Batch:
    ids = torch.tensor([[UNK, VOCAB - 1, EOS], [VOCAB - 2, UNK, EOS]])
    column = Sequences(ids, torch.ones_like(ids, dtype=torch.bool))
    return Batch({"source": column, "target": column}, ROUTE, torch.arange(len(ids)), ids.numel())
