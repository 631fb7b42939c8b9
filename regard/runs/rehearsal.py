"""One step of a model in small, before anything is written: what cannot work is told at once."""

import warnings

import torch

from regard.config import collected_notes
from regard.data.columns import example_values, small_columns
from regard.errors import ConfigError, RegardError
from regard.experiment import Experiment
from regard.models import Model
from regard.ops.memory import lacks_memory
from regard.runs.assembly import engine_of, objective_of
from regard.runs.embeddings import check_embedders
from regard.runs.run import model_of, task_of
from regard.training.scheduled import Scheduled
from regard.training.turns import Turns


def rehearse(experiment: Experiment, *, starts: bool = False) -> None:
    """Builds the model, takes a loss and predicts. Raises ConfigError for parts that do not fit.

    For a run that `starts`, files of vectors are looked into as well; one that goes on needs them no more.
    """
    try:
        columns = small_columns(experiment.vocabularies, shared=experiment.text.shared)
        task, model = task_of(experiment, columns), model_of(experiment, columns).eval()
        with collected_notes() as notes:
            objective = objective_of(experiment, model, task)
        batch, *_ = task.held(example_values(experiment.columns), tokens=64)
        for turn in objective.turns:
            loss = objective.loss(batch, turn)
            if experiment.training.parallel == "fsdp":
                loss.sum.backward()
        _check_shards(model)
        Scheduled(experiment.training, model, objective)
        Turns(experiment.training, objective)
        with torch.inference_mode():
            task.predict(engine_of(experiment.decoding, model, task), batch)
        if starts:
            check_embedders(model, task)
    except RegardError:
        raise
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        if lacks_memory(error):
            raise
        problem = f"its parts do not fit together: {(str(error) or repr(error)).splitlines()[0]}"
        raise ConfigError("model", problem, "look at the dims of encoder, decoder and attention") from error
    for line in dict.fromkeys(map(str, notes)):
        warnings.warn(line, stacklevel=2)


def _check_shards(model: Model) -> None:
    """Raise ConfigError where a model got sparse gradients, of which torch makes no shards."""
    if any(one.grad is not None and one.grad.is_sparse for one in model.parameters()):
        problem = "makes shards of whole gradients, and those of this model are sparse: of the rows that a batch reads"
        raise ConfigError("training.parallel", f"'fsdp' {problem}", "training.parallel=ddp")
