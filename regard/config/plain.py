"""Settings back into the values a YAML file can hold."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import PurePath
from typing import Any

from regard.registry import Choice


def plain(value: Any) -> Any:
    """Dataclasses and choices → groups, tuples → lists, paths → texts; a choice without settings is its name."""
    if isinstance(value, Choice):
        return {"name": value.name, **plain(value.settings)} if value.settings else value.name
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, PurePath) else value
