"""Help on every setting, by its place in a config: `training.patience`, `model.encoder.kernel`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from inspect import Parameter
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from regard.config import FieldsOf, PartOf, as_values
from regard.errors import ConfigError, nearest
from regard.experiment.docstrings import sentence
from regard.experiment.settings import Experiment
from regard.registry import Setting

_Group = Mapping[str, Setting]
BOUNDS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}  # as annotated_types names them


class Described(NamedTuple):
    """A setting: its meaning, type, default, and the parts that have it."""

    place: str
    parts: tuple[str, ...]  # empty where it does not belong to a part
    about: str
    type: str
    default: Any  # a plain value; inspect.Parameter.empty when it must be given
    choices: tuple[str, ...]  # names of parts that may stand there
    fixed: bool  # True: it cannot change in a run which has begun

    @property
    def required(self) -> bool:
        """Return whether it must be given."""
        return self.default is Parameter.empty


class Owned(NamedTuple):
    """The settings of a part, or of another group."""

    part: str
    about: str
    settings: _Group


def describe(place: str, further: Mapping[str, type] = MappingProxyType({})) -> tuple[str, list[Described]]:
    """Return the heading of a place and its settings; for a single setting just this one, once per meaning.

    Numbers of a list and names of a mapping may be left out. `further` are groups of settings beside those of an
    experiment, by name. Raises ConfigError with the nearest place.
    """
    settings = {**FieldsOf(Experiment).settings(), **{name: _group(kind) for name, kind in further.items()}}
    groups, words = [Owned("", "", settings)], place.split(".") if place else []
    heading, found, before = "", list[Described](), list[Any]()
    for number, word in enumerate(words, start=1):
        here = ".".join(words[:number])
        named = [group for group in groups if group.part == word]
        having = [group for group in groups if word in group.settings]
        if named:
            groups, heading, found = named, named[0].about, []
        elif having:
            found = _described(here, word, having)
            heading = found[0].about
            inside = [inner for group in having for inner in groups_in(group.settings[word].annotation)]
            defaults = {row.default for row in found if isinstance(row.default, str)}
            inside.sort(key=lambda one: one.part not in defaults)  # model: a translator first
            groups = list({(one.part, *one.settings): one for one in inside}.values())  # each part once
        elif number == 1 or not any(map(_is_many, before)):
            raise ConfigError(place, "there is no such setting", _hint(place, here, groups))
        before = [group.settings[word].annotation for group in having]
    inside = groups if len(groups) == 1 else []
    rows = [row for group in inside for name in group.settings for row in _described(_join(place, name), name, [group])]
    return heading, rows or found


def _group(kind: type) -> Setting:
    """Return the setting that stands for a group of settings, a dataclass with defaults."""
    return Setting(Annotated[kind, FieldsOf(kind)], kind(), sentence(kind))


def help_lines(place: str, further: Mapping[str, type] = MappingProxyType({})) -> list[str]:
    """Return the lines of `regard help` for a setting or a group; see `describe`."""
    heading, found = describe(place, further)
    alone = all(one.place == place for one in found)
    lines = [f"{place}: {heading}" if heading else place] if place and not alone else []
    lines += [line for one in found for line in _help_of(one, "" if alone else "  ")]
    return lines if place else [*lines, "\nSettings of a group: regard help training. Parts: regard list."]


def _help_of(one: Described, indent: str) -> list[str]:
    """Return the help on one setting, indented within a group."""
    name = one.place if not indent else one.place.rpartition(".")[2]
    of = f" (of {', '.join(one.parts)})" if one.parts and not indent else ""
    kind = one.type
    if one.required:
        kind += ", must be given"
    elif not kind.startswith("group of"):
        kind += f", default {json.dumps(one.default, ensure_ascii=False)}"
    lines = [f"{indent}{name}{of}", f"{indent}    {one.about}", f"{indent}    {kind}"]
    if one.choices and not indent:
        lines.append(f"    choices: {', '.join(one.choices)}")
        shown = one.default if one.default in one.choices else one.choices[0]
        lines.append(f"    settings of one of them: regard help {one.place}.{shown}")
    return lines


def places(kind: type = Experiment) -> Iterator[Described]:
    """Yield every setting of a config, or of another group of settings; each kind of part is described once."""
    yield from _walk("", [Owned("", "", FieldsOf(kind).settings())], ())


def places_named(name: str) -> list[str]:
    """Return the places of all settings of a name, shortest first."""
    same = {one.place for one in places() if one.place.rpartition(".")[2] == name}
    return sorted(same, key=lambda place: (place.count("."), place))


def settings_of(part: str, settings: _Group) -> list[Described]:
    """Return the settings of one part, by their own names."""
    return [row for name in settings for row in _described(name, name, [Owned(part, "", settings)])]


def groups_in(annotation: Any) -> list[Owned]:
    """Return the settings inside a setting: those of a group, or of each possible part."""
    for mark in _marks(annotation):
        if isinstance(mark, FieldsOf):
            return [Owned("", "", mark.settings())]
        if isinstance(mark, PartOf):
            table = mark.table
            return [Owned(name, sentence(table[name]), table.settings(name)) for name in sorted(table)]
    return []


def _walk(place: str, groups: Sequence[Owned], around: tuple[str, ...]) -> Iterator[Described]:
    for name in dict.fromkeys(name for group in groups for name in group.settings):
        having = [group for group in groups if name in group.settings]
        yield from _described(_join(place, name), name, having)
        annotation = having[0].settings[name].annotation
        table = next((mark.table.place for mark in _marks(annotation) if isinstance(mark, PartOf)), None)
        if table is None or table not in around:
            yield from _walk(_join(place, name), groups_in(annotation), around if table is None else (*around, table))


def _described(place: str, name: str, groups: Sequence[Owned]) -> list[Described]:
    """Describe a setting of several parts; parts for which it means the same are listed together."""
    same: dict[str, list[Owned]] = {}
    for group in groups:
        setting = group.settings[name]
        same.setdefault(f"{setting.about} {typename(setting.annotation)} {setting.default}", []).append(group)
    return [_one(place, name, several) for several in same.values()]


def _one(place: str, name: str, groups: Sequence[Owned]) -> Described:
    setting = groups[0].settings[name]
    parts = tuple(group.part for group in groups if group.part)
    empty = setting.default is Parameter.empty
    choices = tuple(inner.part for inner in groups_in(setting.annotation) if inner.part)
    default = setting.default if empty else as_values(setting.default)
    fixed = any(group.settings[name].fixed for group in groups)
    return Described(place, parts, setting.about, typename(setting.annotation), default, choices, fixed)


def _marks(annotation: Any) -> Iterator[Any]:
    """Yield the metadata of `Annotated[…]`, at any depth of lists, mappings and alternatives."""
    if get_origin(annotation) is Annotated:
        yield from annotation.__metadata__
    for inner in get_args(annotation):
        yield from _marks(inner)


def _is_many(annotation: Any) -> bool:
    """Return whether a number or a name may follow: of a list, or of a mapping."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _is_many(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return any(_is_many(one) for one in get_args(annotation))
    return origin in (tuple, Mapping)


def _hint(place: str, here: str, groups: Sequence[Owned]) -> str:
    """Return the nearest name there; else the places of settings with the last name."""
    names = [name for group in groups for name in (group.part, *group.settings) if name]
    around, _, word = here.rpartition(".")
    close = nearest(word, names)
    if close.startswith("did"):
        return close.replace("'", f"'{around}.", 1) if around else close
    shortest = places_named(place.rpartition(".")[2])[:3]
    return f"did you mean {' or '.join(shortest)}?" if shortest else close


def _join(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


# Types as a person would write them: `int >= 1`, `list of encoders`, `a history or null`


def typename(annotation: Any) -> str:
    """Return the type of a setting in readable form."""
    marks: Sequence[Any] = ()
    if get_origin(annotation) is Annotated:
        annotation, *marks = get_args(annotation)
    part = next((mark for mark in marks if isinstance(mark, PartOf)), None)
    if part is not None:
        word = _word(part)
        return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"
    bounds = [f" {sign} {getattr(mark, key)}" for mark in marks for key, sign in BOUNDS.items() if hasattr(mark, key)]
    return _plain(annotation) + ",".join(bounds)


def _plain(annotation: Any) -> str:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return _either([str(one) for one in inner])
    if origin in (Union, UnionType):
        return _either([typename(one) for one in inner])
    if origin is tuple:
        return f"list of {_several(inner[0]) if inner[-1] is ... else f'{len(inner)} {_several(inner[0])}'}"
    if origin is Mapping:
        return "group of settings" if inner[-1] is Any else f"group of {_several(inner[-1])}"
    if is_dataclass(annotation):
        return "group of settings"
    return "null" if annotation is NoneType else str(annotation.__name__)


def _several(annotation: Any) -> str:
    """Return the name of the items of a list: encoders, int >= 1."""
    part = next((mark for mark in get_args(annotation) if isinstance(mark, PartOf)), None)
    return typename(annotation) if part is None else f"{_word(part).removesuffix('s')}s"


def _word(part: PartOf) -> str:
    """Return the last name of the place: encoder, of model.encoder."""
    return part.table.place.rpartition(".")[2]


def _either(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last
