"""`--grid KEY=A,B`: every combination of values, and what a combination is called."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from regard.config import parse_changes
from regard.errors import ConfigError


def crossed(grids: Sequence[str]) -> list[list[tuple[str, Any]]]:
    """Every combination of one value of each grid: [(key, value), …]."""
    axes = [_axis(text) for text in grids]
    keys = [axis[0][0] for axis in axes]
    for key in keys:
        if keys.count(key) > 1:
            raise ConfigError(f"--grid {key}", "is given twice", "one list of values with commas between them")
    for axis in axes:
        _told_apart(axis)
    return [list(cell) for cell in product(*axes)]


def _axis(text: str) -> list[tuple[str, Any]]:
    key, equals, listed = text.partition("=")
    if not equals or not key.strip() or not listed.strip():
        example = "--grid model.attention.score=dot,bilinear"
        raise ConfigError(f"--grid {text}", "a setting and its values are written KEY=VALUE,VALUE", example)
    try:
        values = parse_changes([f"values=[{listed}]"])["values"]
    except ConfigError as error:
        raise ConfigError.of(fault._replace(place=f"--grid {text}") for fault in error.faults) from error
    return [(key.strip(), value) for value in values]


def _told_apart(axis: Sequence[tuple[str, Any]]) -> None:
    """Raises ConfigError where two values would be called the same."""
    seen = dict[str, Any]()
    for key, value in axis:
        name = said(key, value)
        if name in seen:
            told, other = json.dumps(value, ensure_ascii=False), json.dumps(seen[name], ensure_ascii=False)
            if told == other:
                raise ConfigError(f"--grid {key}", f"{told} is given twice", "each value once")
            raise ConfigError(f"--grid {key}", f"{other} and {told} would both be called '{name}'", "leave one out")
        seen[name] = value


def said(key: str, value: Any) -> str:
    """A cell's value as part of a folder's name."""
    last = key.rpartition(".")[2]
    if isinstance(value, str):
        text = value
    elif isinstance(value, Mapping):
        parts = dict(flattened(value))
        text = "-".join([str(parts.pop("", last)), *(f"{name}-{item}" for name, item in parts.items())])
    elif isinstance(value, list):
        text = "+".join(said(key, item) for item in value)
    else:
        text = f"{last}-{json.dumps(value)}"
    return re.sub(r"[^\w.+-]+", "-", text).strip("-.") or last


def flattened(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Nested groups → dotted names; a part without settings is the same as its name."""
    if not isinstance(value, Mapping):
        yield place, value
        return
    for name, item in value.items():
        yield from flattened(item, place if name == "name" else f"{place}.{name}".lstrip("."))
