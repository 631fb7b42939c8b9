"""Which of the shipped configs train which part."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from regard.config import read_settings, read_yaml
from regard.experiment import Experiment
from regard.experiment.parts import parts_in
from regard.tasks import TASKS

Row = tuple[str, str]  # kind and name


def trained(configs: Path) -> dict[Row, list[str]]:
    """(kind, name) → the files in a folder of configs that use it, by their paths from there."""
    found: dict[Row, list[str]] = {}
    for path in sorted(configs.rglob("*.yaml")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names with two meanings
            experiment = read_settings(Experiment, read_yaml(path))
        for row in dict.fromkeys(_rows(experiment)):
            found.setdefault(row, []).append(path.relative_to(configs).as_posix())
    return found


def _rows(experiment: Experiment) -> Iterator[Row]:
    task: Any = TASKS[experiment.task.name]
    model = experiment.model
    for place in ("model.encoder", "model.decoder"):
        if place not in task.without:
            parts = parts_in(place, getattr(model, place.removeprefix("model.")))
            yield from ((_kind(where), part.name) for where, part in parts)
    for socket in (model.attention, model.self_attention):
        yield "score", socket.score.name
        yield "weighting", socket.weighting.name
        yield from (("span", span.name) for span in socket.span)
    yield from (("penalty", penalty.name) for penalty in experiment.penalties)
    if model.position is not None:
        yield "position", model.position.name


def _kind(place: str) -> str:
    """model.encoder.encoders.1 → encoder"""
    return [name for name in place.split(".") if not name.isdecimal()][-1].removesuffix("s")
