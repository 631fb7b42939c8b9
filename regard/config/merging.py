"""Defaults < file < `key=value`: groups of settings laid over each other."""

from collections.abc import Iterable, Mapping
from typing import Any

from regard.config.reading import parse
from regard.errors import ConfigError, Fault

Settings = Mapping[str, Any]


def merge(base: Settings, over: Settings, place: str = "") -> dict[str, Any]:
    """`over` laid on `base`: groups join name by name, anything else is replaced."""
    joined = {name: join(base.get(name), value, f"{place}{name}") for name, value in over.items()}
    return {**base, **joined}


def join(base: Any, over: Any, place: str = "") -> Any:
    """One setting laid on another.

    A part's name counts as its group (`transformer` is `{name: transformer}`), and a part of another name takes
    none of the settings of the one it replaces. Items of a list are reached by their number.
    """
    if not isinstance(over, Mapping):
        return over
    if isinstance(base, list) and over and all(name.isdecimal() and len(name) < 7 for name in over):
        return _items(base, over, place)
    group = {"name": base} if isinstance(base, str) else base
    if not isinstance(group, Mapping) or over.get("name", group.get("name")) != group.get("name"):
        return merge({}, over, f"{place}.")
    return merge(group, over, f"{place}.")


def parse_changes(changes: Iterable[str]) -> dict[str, Any]:
    """`model.dim=512 model.encoder.num_layers=6` → nested groups; values are read as YAML, the last word counts."""
    settings: dict[str, Any] = {}
    faults: list[Fault] = []
    for change in changes:
        key, equals, text = change.partition("=")
        names = key.strip().split(".")
        if not equals or not all(names):
            faults.append(Fault(change, "a change is written key=value", "for example training.updates=1000"))
            continue
        try:
            settings = _put(settings, names, parse(text, key), key)
        except ConfigError as error:
            faults.extend(error.faults)
    if faults:
        raise ConfigError.of(faults)
    return settings


def _put(group: Any, names: list[str], value: Any, key: str) -> Any:
    if not names:
        return join(group, value, key)
    group = {"name": group} if isinstance(group, str) else {} if group is None else group
    if not isinstance(group, Mapping):
        raise ConfigError(key, f"an earlier change made this {group!r:.40}, which holds no '{names[0]}'")
    return {**group, names[0]: _put(group.get(names[0]), names[1:], value, key)}


def _items(base: list[Any], over: Settings, place: str) -> list[Any]:
    items = list(base)
    for number, value in sorted(over.items(), key=lambda item: int(item[0])):
        if int(number) > len(items):
            raise ConfigError(f"{place}.{number}", f"the list has {len(items)} items, counted from 0")
        items[int(number) : int(number) + 1] = [join((items[int(number) :] or [None])[0], value, f"{place}.{number}")]
    return items
