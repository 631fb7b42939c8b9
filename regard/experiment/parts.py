"""Parts that settings name, wherever they stand."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from regard.registry import Choice


def parts_in(place: str, value: Any) -> Iterator[tuple[str, Choice]]:
    """Every part that settings name, also inside of others, and its place."""
    if isinstance(value, Choice):
        yield place, value
        for key, setting in value.settings.items():
            yield from parts_in(f"{place}.{key}", setting)
    elif isinstance(value, tuple):
        for number, one in enumerate(value):
            yield from parts_in(f"{place}.{number}", one)
    elif is_dataclass(value):
        for field in fields(value):
            yield from parts_in(f"{place}.{field.name}", getattr(value, field.name))
