"""Defaults < file < `key=value`: groups of settings laid over each other."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from regard.config.reading import parse
from regard.errors import ConfigError, Fault

_Settings = Mapping[str, Any]


class NumberOfName(int):
    """A number that a name stands for: it replaces a default, but no number that a file or a change gives."""


def merge(base: _Settings, over: _Settings) -> dict[str, Any]:
    """`over` laid on `base`: groups join name by name, anything else is replaced.

    A part's name counts as its group (`transformer` is `{name: transformer}`), and a part of another name takes none
    of the settings of the one it replaces. Items of a list are reached by their number.
    """
    return _merged(base, over, "")


def lay(default: Any, given: Any) -> Any:
    """Return given values, laid on a default, as `merge` does; the name of a default part stands for all of it.

    So settings of two runs differ in what is given, and in nothing else: `{score: additive}` on `{score: scaled_dot,
    num_heads: 4}` has four heads, `transformer` on `{name: transformer, num_layers: 2}` two layers.
    """
    return _join(default, _grouped(default, given), "")


def _grouped(default: Any, given: Any) -> Any:
    """Return given values, with the names of default parts that have settings as groups."""
    if isinstance(given, NumberOfName):
        return int(given)
    if not isinstance(default, Mapping):
        return given
    if isinstance(given, Mapping):
        return {name: _grouped(default.get(name), value) for name, value in given.items()}
    return {"name": given} if isinstance(given, str) and _kind(default) == given else given


def name_parts(default: Any, given: Any) -> Any:
    """Return given values, their parts without a name named as in a default, so that their settings are those."""
    group = {"name": default} if isinstance(default, str) else default
    if not isinstance(given, Mapping) or not isinstance(group, Mapping):
        return given
    if _kind(given) not in (None, _kind(group)):
        return given
    own = {} if "name" in given or "name" not in group else {"name": group["name"]}
    return {**own, **{name: name_parts(group.get(name), value) for name, value in given.items()}}


def _merged(base: _Settings, over: _Settings, place: str) -> dict[str, Any]:
    joined = {name: _join(base.get(name), value, f"{place}.{name}") for name, value in over.items()}
    return {**base, **joined}


def _join(base: Any, over: Any, place: str) -> Any:
    if isinstance(over, NumberOfName) and base is not None:
        return base
    if not isinstance(over, Mapping):
        return over
    if isinstance(base, list) and over and all(name.isdecimal() and len(name) < 7 for name in over):
        return _items(base, over, place)
    group = {"name": base} if isinstance(base, str) else base
    if not isinstance(group, Mapping) or _kind(over) not in (None, _kind(group)):
        group = {}
    return _merged(group, over, place)


def _kind(group: _Settings) -> Any:
    """Return the name of a part, or of the part it is named after, if the group gives it."""
    kind = group.get("name")
    return kind.get("name") if isinstance(kind, Mapping) else kind


def parse_changes(changes: Iterable[str], spelled: Callable[[_Settings], _Settings] = dict) -> dict[str, Any]:
    """`model.dim=512 model.encoder.num_layers=6` → nested groups; values are read as YAML, the last word counts.

    A change that would throw away what an earlier one said of a part (`x.size=3 x=greedy`) is a fault. `spelled` puts
    settings in the place of a name that stands for some, in each change by itself.
    """
    settings: dict[str, Any] = {}
    faults: list[Fault] = []
    given: list[list[str]] = []
    for change in changes:
        key, equals, text = change.partition("=")
        names = key.strip().split(".")
        if not equals or not all(names):
            faults.append(Fault(change, "a change is written key=value", "for example training.max_updates=1000"))
            continue
        try:
            place, value = _meant(names, parse(text, key), spelled)
            settings = _put(settings, place, value, key)
        except ConfigError as error:
            faults.extend(error.faults)
            continue
        lost = [earlier for earlier in given if not _holds(settings, earlier)]
        if lost:
            faults.append(Fault(key, f"comes after {'.'.join(lost[0])} and discards it", f"give {key} first"))
        leaf = names if place == names else _leaf(place, value)
        given = [leaf, *(earlier for earlier in given if earlier not in lost)]
    if faults:
        raise ConfigError.of(faults)
    return settings


def _meant(names: list[str], value: Any, spelled: Callable[[_Settings], _Settings]) -> tuple[list[str], Any]:
    """Where a change goes and what it says there; a `name` that stands for settings of its group is the group."""
    tree: Any = value
    for name in reversed(names):
        tree = {name: tree}
    tree = spelled(tree)
    for place, name in enumerate(names):
        if name not in tree:
            return names[:place], tree
        tree = tree[name]
    return names, tree


def _leaf(names: list[str], value: Any) -> list[str]:
    """The setting that a change gives, inside the group that its name may have become."""
    inner = [name for name in value if name != "name"] if isinstance(value, Mapping) else []
    return _leaf([*names, inner[0]], value[inner[0]]) if len(inner) == 1 else names


def _holds(group: Any, names: list[str]) -> bool:
    """Return whether there is a setting of that path; a part's name counts as its group."""
    for name in names:
        group = {"name": group} if isinstance(group, str) else group
        if not isinstance(group, Mapping) or name not in group:
            return False
        group = group[name]
    return True


def _put(group: Any, names: list[str], value: Any, key: str) -> Any:
    if not names:
        return _join(group, value, key)
    group = {"name": group} if isinstance(group, str) else {} if group is None else group
    if not isinstance(group, Mapping):
        raise ConfigError(key, f"an earlier change made this {group!r:.40}, which holds no '{names[0]}'")
    return {**group, names[0]: _put(group.get(names[0]), names[1:], value, key)}


def _items(base: list[Any], over: _Settings, place: str) -> list[Any]:
    items = list(base)
    for number, value in sorted(over.items(), key=lambda item: int(item[0])):
        if int(number) > len(items):
            raise ConfigError(f"{place}.{number}".removeprefix("."), f"the list has {len(items)} items, counted from 0")
        old = (items[int(number) :] or [None])[0]
        items[int(number) : int(number) + 1] = [_join(old, value, f"{place}.{number}")]
    return items
