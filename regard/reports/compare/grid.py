"""The combinations of `--grid KEY=A,B` options, and what their values are called in the names of folders."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from regard.config import parse_changes
from regard.errors import ConfigError

Combination = list[tuple[str, Any]]  # (setting, value) of each grid


def grid_combinations(grids: Sequence[str]) -> list[Combination]:
    """Every combination of one value of each grid."""
    axes = [_axis(grid) for grid in grids]
    keys = [axis[0][0] for axis in axes]
    for key in keys:
        if keys.count(key) > 1:
            raise ConfigError(f"--grid {key}", "is given twice", "one list of values with commas between them")
    for axis in axes:
        _check_values(axis)
    return [list(one) for one in product(*axes)]


def _axis(grid: str) -> Combination:
    key, equals, listed = grid.partition("=")
    if not equals or not key.strip() or not listed.strip():
        example = "--grid model.attention.score=dot,bilinear"
        raise ConfigError(f"--grid {grid}", "a setting and its values are written KEY=VALUE,VALUE", example)
    try:
        values = parse_changes([f"values=[{listed}]"])["values"]
    except ConfigError as error:
        raise ConfigError.of(fault._replace(place=f"--grid {grid}") for fault in error.faults) from error
    return [(key.strip(), value) for value in values]


def _check_values(axis: Combination) -> None:
    """Raises ConfigError where two values have the same name."""
    seen = dict[str, str]()
    for key, value in axis:
        name, text = value_name(key, value), json.dumps(value, ensure_ascii=False)
        if seen.get(name) == text:
            raise ConfigError(f"--grid {key}", f"{text} is given twice", "each value once")
        if name in seen:
            problem = f"{seen[name]} and {text} would both be called '{name}'"
            raise ConfigError(f"--grid {key}", problem, "leave one out")
        seen[name] = text


def value_name(key: str, value: Any) -> str:
    """The value of a setting as part of a folder's name."""
    last = key.rpartition(".")[2]
    if isinstance(value, str):
        text = value
    elif isinstance(value, Mapping):
        parts = dict(flat_settings(value))
        text = "-".join([str(parts.pop("", last)), *(f"{name}-{item}" for name, item in parts.items())])
    elif isinstance(value, list):
        text = "+".join(value_name(key, item) for item in value)
    else:
        text = f"{last}-{json.dumps(value)}"
    return re.sub(r"[^\w.+-]+", "-", text).strip("-.") or last


def flat_settings(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Nested groups → dotted names; a part without settings is the same as its name."""
    if not isinstance(value, Mapping):
        yield place, value
        return
    for name, item in value.items():
        yield from flat_settings(item, place if name == "name" else f"{place}.{name}".lstrip("."))
