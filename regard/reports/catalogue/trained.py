"""Which of the shipped configs train which part."""

import warnings
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from regard.experiment import Experiment, load_experiment
from regard.registry import Choice

_Row = tuple[str, str]  # kind and name
OTHERWISE = {("tagger", "head"): "tag_head"}  # kinds that a model has under the name of another one


def trained(configs: Path) -> dict[_Row, list[str]]:
    """(kind, name) → the files in a folder of configs that use it, by their paths from there."""
    found: dict[_Row, list[str]] = {}
    for path in sorted(configs.rglob("*.yaml")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names with two meanings
            experiment = load_experiment(path)
        for row in dict.fromkeys(_rows(experiment)):
            found.setdefault(row, []).append(path.relative_to(configs).as_posix())
    return found


def _rows(experiment: Experiment) -> Iterator[_Row]:
    for where, part in _parts_in("model", experiment.model):
        kind = _kind(where)
        yield OTHERWISE.get((experiment.model.name, kind), kind), part.name
    yield from (("penalty", penalty.name) for penalty in experiment.penalties)


def _kind(place: str) -> str:
    """model.encoder.encoders.1 → encoder"""
    return [name for name in place.split(".") if not name.isdecimal()][-1].removesuffix("s")


def _parts_in(place: str, value: Any) -> Iterator[tuple[str, Choice]]:
    """Every part that settings name, also inside of others, and its place."""
    if isinstance(value, Choice):
        yield place, value
        for key, setting in value.settings.items():
            yield from _parts_in(f"{place}.{key}", setting)
    elif isinstance(value, tuple):
        for number, one in enumerate(value):
            yield from _parts_in(f"{place}.{number}", one)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _parts_in(f"{place}.{field.name}", getattr(value, field.name))
