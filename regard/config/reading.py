"""YAML in, plain values out: bounded in size, never anything but data, and `no` is a language, not a truth value."""

import re
from contextlib import suppress
from copy import deepcopy
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import SafeConstructor
from yaml.representer import SafeRepresenter
from yaml.resolver import Resolver

from regard.config.atomic_write import write_atomically
from regard.config.versions import UNPROVED, current_run
from regard.errors import CheckpointError, ConfigError

SETTINGS_FILE = "experiment.yaml"  # in the folder of a run
MAX_BYTES = 2**20  # of a file
MAX_COMPILED = 1_000  # groups within each other at most
UNLIKE = {"\t", "!", "?", "\ufeff"}  # signs that the two loaders read differently
MAX_NODES = 100_000  # once aliases are written out: a few nested ones can mean billions


def settings_file(run: Path) -> Path:
    """Return the settings of a run folder. Raises CheckpointError where there are none."""
    file = run / SETTINGS_FILE
    if not run.exists():
        raise CheckpointError(run, "there is no such folder", "regard train makes one")
    if not file.is_file() and (run / UNPROVED).is_dir():
        problem = "has a lesson of regard teach that was interrupted before its proof"
        raise CheckpointError(run, problem, "give the same command again, and it goes on")
    if not file.is_file():
        problem = f"is not a run folder: it has no {SETTINGS_FILE}"
        raise CheckpointError(run, problem, "regard train makes one, regard import one of another program's model")
    return file


class _Values(SafeConstructor, Resolver):
    """YAML 1.2's core types: 1e-4 is a number; no, on and 2024-01-01 are texts. A key stands once."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A group of settings: names are texts, and none stands twice."""
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or not key.tag.endswith((":str", ":int")):
                raise _fault(key, "a setting's name must be text")
            if key.value in seen:
                raise _fault(key, f"'{key.value}' stands twice in one group")
            seen.add(key.value)
        return {key.value: self.construct_object(value, deep=True) for key, value in node.value}

    def construct_number(self, node: yaml.ScalarNode) -> int | float:
        """10_000, 0x1f, 1e-4, .inf; never octal or sexagesimal."""
        text = node.value.replace("_", "").lower()
        if node.tag.endswith(":float"):
            return float(text.replace(".inf", "inf").replace(".nan", "nan"))
        return int(text, 16) if "0x" in text else int(text)


_NUMBERS = {
    "int": r"[-+]?(?:0[xX][0-9a-fA-F]{1,16}|[0-9][0-9_]{0,99})",
    "float": r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*\.?[0-9]*)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
}
_Values.yaml_implicit_resolvers = {}
_Values.yaml_constructors = {
    tag: make
    for tag, make in SafeConstructor.yaml_constructors.items()
    if tag is None or tag.endswith((":null", ":bool", ":str", ":seq", ":map"))
}
_Values.yaml_constructors |= {f"tag:yaml.org,2002:{tag}": _Values.construct_number for tag in _NUMBERS}
for _tag, _pattern in {"null": "~|null|Null|NULL|", "bool": "true|True|TRUE|false|False|FALSE", **_NUMBERS}.items():
    _Values.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})\\Z"), None)


class _Loader(_Values, yaml.SafeLoader):
    """Says what is wrong with a text."""


class _CompiledLoader(_Values, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # where libyaml is not
    """Takes an eighth of the time, and overflows the stack of the process where groups are nested too deeply."""


def settings_folder(folder: Path) -> Path:
    """Return the run folder to use: of a run with versions, which `regard teach` makes, the one in use."""
    return current_run(own_folder(folder))


def own_folder(folder: Path) -> Path:
    """Return a run folder, or the one inside of a folder that is none: `model` of a demo, `regard` of an export."""
    if (folder / SETTINGS_FILE).exists():
        return folder
    return next((folder / one for one in ("model", "regard") if (folder / one / SETTINGS_FILE).is_file()), folder)


def read_yaml(path: Path) -> dict[str, Any]:
    """The settings in a file. Faults name the file and the line."""
    if not path.is_file():
        problem = "this is a folder" if path.is_dir() else "there is no such file"
        raise ConfigError(str(path), problem, _beside(path))
    raw = path.read_bytes()
    if len(raw) > MAX_BYTES:
        raise ConfigError(str(path), f"{len(raw):,} bytes are too many for settings", f"at most {MAX_BYTES:,}")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ConfigError(f"{path}:{line}", f"byte {error.start} is not UTF-8", "save the file as UTF-8") from error
    settings = parse(text, str(path))
    if settings is None:
        return {}
    if not isinstance(settings, dict):
        raise ConfigError(str(path), f"settings must be groups of 'name: value', not {settings!r:.40}")
    return settings


def parse(text: str, place: str) -> Any:
    """The value a YAML text stands for; `place` is named in faults."""
    try:
        return deepcopy(_loaded(text))
    except ConfigError as error:
        raise ConfigError.of(fault._replace(place=place + fault.place) for fault in error.faults) from None
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark and "\n" in text else ""
        hint = "a text with special signs wants quotes" if not line else ""
        raise ConfigError(place + line, f"this is not YAML: {error.problem}", hint) from error
    except (yaml.YAMLError, ValueError, KeyError) as error:  # signs no text holds, or a tag its value does not fit
        raise ConfigError(place, f"this is not YAML: {(str(error) or repr(error)).splitlines()[0]}") from error
    except RecursionError as error:
        raise ConfigError(place, "the settings are nested too deeply") from error


@lru_cache(maxsize=64)
def _loaded(text: str) -> Any:
    """The value; settings of a run and changes of it are read several times."""
    groups = sum(map(text.count, "[{-:"))  # each begins with one of them
    if groups <= MAX_COMPILED and UNLIKE.isdisjoint(text):
        with suppress(yaml.YAMLError, UnicodeError):
            return _read(text, _CompiledLoader)
    return _read(text, _Loader)


def _read(text: str, kind: Any) -> Any:
    """The value of the document, if it is not larger than it looks."""
    loader = kind(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _size(node, {})
        return loader.construct_document(node)
    finally:
        loader.dispose()


def write_yaml(path: Path, settings: dict[str, Any]) -> None:
    """Settings to a file that `read_yaml` reads back the same."""
    try:
        text = _written(settings, _CompiledDumper)
    except UnicodeError:  # file names that are not valid Unicode
        text = _written(settings, _Dumper)
    write_atomically(path, text)


def _written(settings: dict[str, Any], dumper: Any) -> str:
    return yaml.dump(settings, Dumper=dumper, sort_keys=False, allow_unicode=True, width=120)


def quoted(text: str) -> str:
    """Return a value as YAML text, whatever its signs: a file may be called `no` or `1: a`, and hold any bytes."""
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(one if one.isalnum() else f"\\U{ord(one):08x}" for one in text) + '"'


class _Texts(SafeRepresenter, Resolver):
    """Quotes whatever either YAML version would take for something else than text."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_text(self, text: str) -> yaml.ScalarNode:
        """In double quotes where a sign would be taken for the end of a line."""
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=None if text.isprintable() else '"')


_Texts.add_representer(str, _Texts.represent_text)
for _tag, _pattern in _NUMBERS.items():
    _Texts.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})\\Z"), None)


class _Dumper(_Texts, yaml.SafeDumper):
    """Writes any text."""


class _CompiledDumper(_Texts, getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # where libyaml is not
    """Takes a fifth of the time for what UTF-8 has."""


def _size(node: yaml.Node, sizes: dict[int, int]) -> int:
    """Nodes in a document with its aliases written out."""
    if id(node) not in sizes:
        sizes[id(node)] = MAX_NODES  # met again before it is done: it holds itself
        children = node.value if isinstance(node, yaml.CollectionNode) else []
        pairs = [child if isinstance(child, tuple) else (child,) for child in children]
        sizes[id(node)] = 1 + sum(_size(child, sizes) for pair in pairs for child in pair)
    if sizes[id(node)] >= MAX_NODES:
        raise _fault(node, f"more than {MAX_NODES:,} values, with aliases (*name) written out")
    return sizes[id(node)]


def _fault(node: yaml.Node, problem: str) -> ConfigError:
    return ConfigError(f":{node.start_mark.line + 1}", problem)


def _beside(path: Path) -> str:
    """The file that was meant, if the folder holds one of nearly that name."""
    names = [file.name for file in path.parent.glob("*.y*ml")] if path.parent.is_dir() else []
    close = get_close_matches(path.name, names, n=1)
    return f"did you mean '{path.parent / close[0]}'?" if close else "settings are read from a .yaml file"
