"""A part by name, and settings as the values that a YAML file can hold."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import PurePath
from typing import Any, NamedTuple


class Choice(NamedTuple):
    """A part by name with its settings, as a config spells it."""

    name: str
    settings: Mapping[str, Any] = {}


def as_values(value: Any) -> Any:
    """Dataclasses and choices → groups, tuples → lists, paths → texts; a choice without settings is its name."""
    if isinstance(value, Choice):
        return {"name": value.name, **as_values(value.settings)} if value.settings else value.name
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_values(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): as_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_values(item) for item in value]
    return str(value) if isinstance(value, PurePath) else value
