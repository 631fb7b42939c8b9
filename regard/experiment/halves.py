"""Norms of one half of a batch by the other, and objectives that learn from one half: each needs the other."""

from collections.abc import Iterator
from typing import Any

from regard.errors import Fault
from regard.experiment.parts import parts_in
from regard.experiment.settings import Experiment
from regard.layers.normalisation import NORMALISATIONS
from regard.objectives import OBJECTIVES
from regard.registry import Choice
from regard.tasks import TASKS


def halved(experiment: Experiment) -> Iterator[Fault]:
    """With any other objective the half that lends its statistics would be learnt from, and told of its own future."""
    norms = [(place, norm.name) for place, norm in _norms(experiment) if _of(NORMALISATIONS, norm.name).by_others]
    name = experiment.objective.name
    if not _of(OBJECTIVES, name).halves:
        learners = " or ".join(other for other in OBJECTIVES if _of(OBJECTIVES, other).halves)
        for place, norm in norms:
            problem = f"'{norm}' normalises half of a batch by the other, and objective '{name}' learns from both"
            yield Fault(place, problem, f"objective={learners}, or another norm")
    elif not norms:
        named = " or ".join(other for other in NORMALISATIONS if _of(NORMALISATIONS, other).by_others)
        problem = f"'{name}' learns from half of each batch, and no norm of the model needs the other half"
        yield Fault("objective", problem, f"objective=likelihood, or a model whose norm is {named}")


def _of(table: Any, name: str) -> Any:
    """A row of a table, whose flags are read before it is built."""
    return table[name]


def _norms(experiment: Experiment) -> Iterator[tuple[str, Choice]]:
    """Every choice of a norm in the parts that the model has, and its place."""
    without = _of(TASKS, experiment.task.name).without
    for place, part in (("model.encoder", experiment.model.encoder), ("model.decoder", experiment.model.decoder)):
        if place not in without:
            yield from ((place, one) for place, one in parts_in(place, part) if place.endswith(".norm"))
