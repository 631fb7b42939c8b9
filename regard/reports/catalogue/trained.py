"""Which of the shipped configs train which part."""

import warnings
from collections.abc import Iterator
from pathlib import Path

from regard.experiment import Experiment, load_experiment
from regard.experiment.parts import parts_in

Row = tuple[str, str]  # kind and name
OTHERWISE = {("tagger", "head"): "tag_head"}  # kinds that a model has under the name of another one


def trained(configs: Path) -> dict[Row, list[str]]:
    """(kind, name) → the files in a folder of configs that use it, by their paths from there."""
    found: dict[Row, list[str]] = {}
    for path in sorted(configs.rglob("*.yaml")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names with two meanings
            experiment = load_experiment(path)
        for row in dict.fromkeys(_rows(experiment)):
            found.setdefault(row, []).append(path.relative_to(configs).as_posix())
    return found


def _rows(experiment: Experiment) -> Iterator[Row]:
    for where, part in parts_in("model", experiment.model):
        kind = _kind(where)
        yield OTHERWISE.get((experiment.model.name, kind), kind), part.name
    yield from (("penalty", penalty.name) for penalty in experiment.penalties)


def _kind(place: str) -> str:
    """model.encoder.encoders.1 → encoder"""
    return [name for name in place.split(".") if not name.isdecimal()][-1].removesuffix("s")
