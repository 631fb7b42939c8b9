"""Checkpoints of versions before this one, whose training goes on."""

from collections.abc import Container, Mapping
from typing import Any

from torch import Tensor


def upgraded_state(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the state of training as it is saved today, of a checkpoint by whatever version.

    The first one knew one turn, and at the beginning no processor time: the wall's is the best guess.
    """
    if "driven" not in state:
        return state
    window, schedules = dict(state["window"]), dict(state["driven"])
    wall = window.pop("seconds")
    spent = {"wall": wall, "core": window.pop("core_seconds", wall)}
    turns = {"model": schedules.pop("")}
    kept = {"validated": -1, "core_seconds": state["seconds"], **state, "turns": turns, "schedules": schedules}
    kept["window"] = {"turns": {"model": {**window, "rate": 0.0}}, "tokens": window["tokens"], "spent": spent}
    return kept


def upgraded_objective(
    tensors: Mapping[str, Tensor], model: Container[str], known: Container[str]
) -> dict[str, Tensor]:
    """Return the tensors of an objective without those of the model, which some objectives saved once more.

    `model` are the names of the model's tensors, `known` those that the objective has today.
    """
    return {name: one for name, one in tensors.items() if name in known or name.partition("model.")[2] not in model}
