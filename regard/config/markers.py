"""Markers in `Annotated[…]`, by which plain values are read into groups, parts and lists of parts."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from typing import Any, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from regard.config.faults import shown
from regard.config.merging import merge
from regard.config.models import Marker, Setting, Settings, declared, present_names, settings_model
from regard.config.values import Choice
from regard.errors import ConfigError, nearest

_Alias = Callable[[str], Mapping[str, Any]]
Short = Callable[[str], Mapping[str, Any] | None]
Unnamed = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
Advice = Callable[[Any], str]  # for a value that cannot stand there → a hint, or ""
_T = TypeVar("_T")

_DEFINED = "defined"  # pydantic would resolve "$ref" itself, so a reference has this key, with the part


class FieldsOf(Marker):
    """`Annotated[ModelSettings, FieldsOf(ModelSettings, encoder=…)]`: a group of settings read into a dataclass.

    `types` complete annotations that leave something open. With `aliases`, a text in the group's place or its `name`
    stands for some of the settings, as `resolve` says; `advice` says what to write instead of something else.
    """

    def __init__(
        self,
        kind: type,
        aliases: Iterable[str] = (),
        resolve: _Alias | None = None,
        advice: Advice | None = None,
        **types: Any,
    ) -> None:
        self.kind, self.aliases, self.resolve, self.advice = kind, sorted(aliases), resolve, advice
        self.types = types

    @cached_property
    def model(self) -> type[Settings]:
        """Of the fields. Made when it is needed: a table may still be without its parts."""
        return settings_model(self.kind.__name__, self.settings(), self.kind.__doc__)

    def settings(self) -> dict[str, Setting]:
        """Its fields, with types, defaults and descriptions."""
        return declared(self.kind, self.types)

    def names(self) -> Iterable[str]:
        """Its settings."""
        return self.model.model_fields

    def spelled(self, value: Any) -> Any:
        """A name becomes the settings it stands for, so that it is laid on others as they are: setting by setting."""
        try:
            return self.model.spell(self._group(value))
        except ConfigError:
            return value

    def read(self, value: Any) -> Any:
        """A group of settings or an alias → the dataclass, which is left as it is."""
        return value if isinstance(value, self.kind) else self.kind(**dict(self.model.check(self._group(value))))

    def schema(self) -> dict[str, Any]:
        """An object, or one of the aliases."""
        group = self.model.schema_object()
        if not self.aliases:
            return group
        names = {"enum": self.aliases}
        return {"anyOf": [names, {**group, "properties": {"name": names, **group["properties"]}}]}

    def _group(self, value: Any) -> Mapping[str, Any]:
        group = {"name": value} if isinstance(value, str) and self.resolve else value
        if not isinstance(group, Mapping):
            wanted = "a name or a group of settings" if self.resolve else "a group of settings"
            raise ConfigError("", f"must be {wanted}, not {shown(value)}", self.advice(value) if self.advice else "")
        if self.resolve is None or "name" not in group:
            return group
        rest = {name: item for name, item in group.items() if name != "name"}
        try:
            return merge(self.resolve(group["name"]), rest)
        except ConfigError as error:
            raise ConfigError.of(fault._replace(place="") for fault in error.faults) from None


class PartOf(Marker):
    """`Annotated[Choice, PartOf(SCORES)]`: a part by name, its settings checked against its signature.

    Settings that the table inherits stay open when they are not given; the others are completed with their defaults.
    The aliases of a row stand for it. `short` may turn any other text into a name and settings (a file's name into its
    reader), and `unnamed` a group without a name (files by column into their reader).
    """

    def __init__(
        self,
        table: Any,  # a Registry: it stands above this room
        short: Short | None = None,
        *,
        unnamed: Unnamed | None = None,
    ) -> None:
        self.table, self.short, self.unnamed = table, short, unnamed

    @cached_property
    def aliases(self) -> list[str]:
        """Other names of rows."""
        return sorted(self.table.aliases())

    def names(self) -> Iterable[str]:
        """The settings of every row."""
        return {name for row in self.table for name in self.table.model(row).model_fields}

    def read(self, value: Any) -> Choice:
        """`name` or `{name: …, setting: …}` → Choice, which is left as it is."""
        if isinstance(value, Choice):
            return value
        group = self._group(value)
        name = group.get("name") if isinstance(group, Mapping) else None
        if not isinstance(name, str):
            problem = f"must be the name of a part, or its name and settings, not {shown(value)}"
            raise ConfigError("", problem, nearest("", self.table))
        if name not in self.table:
            hint = self.table.advice(name) if self.table.advice else ""
            if ":" in name:  # of {name: beam, size: 8}, of which bash makes words
                hint = "in a shell quote settings in braces: 'SETTING={name: NAME, ...}'"
            raise ConfigError("", f"there is no '{name}'", hint or nearest(name, self.table))
        model: type[Settings] = self.table.model(name)
        given = model.renamed({key: item for key, item in group.items() if key != "name"})
        try:
            settings = model.check(given)
        except ConfigError as error:
            other = {"type", "kind", "class"} - model.model_fields.keys()  # what others call the name
            hint = "did you mean 'name'?"
            raise ConfigError.of(f._replace(hint=hint) if f.place in other else f for f in error.faults) from None
        return Choice(name, {key: item for key, item in settings if key in given or key not in self.table.inherits})

    def schema(self) -> dict[str, Any]:
        """A reference to the definition, which parts of parts have, too; `schema_of` names it."""
        return {_DEFINED: self}

    def is_defined_as(self, other: "PartOf") -> bool:
        """Return whether both have one definition."""
        return (self.table, self.short, self.unnamed) == (other.table, other.short, other.unnamed)

    def definition(self) -> dict[str, Any]:
        """A name alone where nothing must be given, or an object."""
        rows = {name: self.table.model(name).schema_object() for name in sorted(self.table)}
        free = [name for name, row in rows.items() if not row.get("required")]
        listed = {"enum": sorted({*free, *self.aliases})}
        text: dict[str, Any] = {"type": "string"} if self.short and not self.aliases else listed
        files = {"type": "object", "additionalProperties": {"type": "string"}, "not": {"required": ["name"]}}
        return {"anyOf": [text, *(_row(name, row) for name, row in rows.items()), *([files] if self.unnamed else [])]}

    def spelled(self, value: Any) -> Any:
        """An alias, alone or with settings, becomes what it stands for; also in the settings of the part."""
        group = self._group(value)
        if not isinstance(group, Mapping):
            return value
        if isinstance(value, str) and len(group) == 1:
            return group["name"]
        name = group.get("name")
        known = [name] if isinstance(name, str) and name in self.table else self.table
        rows = [self.table.model(row) for row in known]
        group = present_names(group, _old_names(rows), str(name or self.table.place))
        return {key: next((row.spell({key: item})[key] for row in rows if key in row.model_fields), item)
                for key, item in group.items()}  # fmt: skip

    def _group(self, value: Any) -> Any:
        group = {"name": value} if isinstance(value, str) else value
        if self.unnamed is not None and isinstance(group, Mapping) and "name" not in group:
            return self.unnamed(group) or group
        name = group.get("name") if isinstance(group, Mapping) else None
        if not isinstance(name, str) or name in self.table:
            return group
        said = self.short(name) if self.short else None
        found = self.table.find(name)
        if said is None and found is not None:
            said = {"name": found.name, **found.settings}
        return group if said is None else {**said, **{key: item for key, item in group.items() if key != "name"}}


def _old_names(rows: Iterable[type[Settings]]) -> dict[str, str]:
    """Return old names of settings with the present ones, where all rows agree and none has the old one."""
    found: dict[str, set[str]] = {}
    for row in rows:
        for old, new in row.old_names().items():
            found.setdefault(old, set()).add(new)
    return {old: next(iter(new)) for old, new in found.items() if len(new) == 1}


def _row(name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a row's settings with its name among them."""
    properties = {"name": {"const": name}, **row["properties"]}
    return {**row, "properties": properties, "required": ["name", *row.get("required", ())]}


class OneOrMany:
    """`Annotated[tuple[Choice, ...], OneOrMany()]`: a list, or its only item."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(_listed, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        many = handler(schema)
        return {"anyOf": [many["items"], many]}


def _listed(value: Any) -> Any:
    return value if isinstance(value, list | tuple) and not isinstance(value, Choice) else [value]


def read_settings(kind: type[_T], settings: Mapping[str, Any]) -> _T:
    """An instance of a dataclass out of plain values. Every fault at once, as one ConfigError."""
    group: type = kind
    read: _T = _group(group).read(settings)
    return read


def spelled(kind: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings for a dataclass, with every name in them that stands for settings replaced by these.

    So what they are laid on keeps all that the name does not mention. Faults are left to `read_settings`.
    """
    return _group(kind).model.spell(settings)


def schema_of(kind: type) -> dict[str, Any]:
    """The JSON schema of a settings file that `read_settings` takes for `kind`, with a definition of each table."""
    definitions = _Definitions()
    found = definitions.referring(_group(kind).schema())
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found, "$defs": definitions.schemas}


class _Definitions:
    """The definitions of one schema, by name: that of the table, with a number where a table has several."""

    def __init__(self) -> None:
        self.schemas: dict[str, Any] = {}
        self._parts: dict[str, PartOf] = {}

    def referring(self, value: Any) -> Any:
        """Return a schema whose references are JSON schema's; add what they refer to."""
        if isinstance(value, list):
            return [self.referring(item) for item in value]
        if not isinstance(value, dict):
            return value
        found = {key: self.referring(item) for key, item in value.items() if key != _DEFINED}
        return {"$ref": f"#/$defs/{self._name(value[_DEFINED])}", **found} if _DEFINED in value else found

    def _name(self, part: PartOf) -> str:
        """Return the name of a part's definition, made where it is new."""
        if (known := next((name for name, one in self._parts.items() if one.is_defined_as(part)), None)) is not None:
            return known
        same = sum(one.table.place == part.table.place for one in self._parts.values())
        name = f"{part.table.place}{same + 1 if same else ''}"
        self._parts[name], self.schemas[name] = part, {}  # known before it is described: its parts may refer to it
        self.schemas[name] |= self.referring(part.definition())
        return name


@cache
def _group(kind: type) -> FieldsOf:
    return FieldsOf(kind)
