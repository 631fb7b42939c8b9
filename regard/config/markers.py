"""What stands in `Annotated[…]` so that plain values are read into groups, parts and lists of parts."""

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from functools import cached_property
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from regard.config.faults import refuse, shown
from regard.config.fields import Fields, declared, first_line
from regard.config.marker import Marker
from regard.config.merging import merge
from regard.errors import ConfigError, Fault, nearest
from regard.registry import Choice, Registry

Alias = Callable[[str], Mapping[str, Any]]
Short = Callable[[str], Mapping[str, Any] | None]
Unnamed = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
Advice = Callable[[Any], str]  # for a value that cannot stand there → a hint, or ""

DEPTH = 2  # how often a part of a table that is made of parts of that table is described in full
_AROUND: ContextVar[tuple[Any, ...]] = ContextVar("described just now", default=())


class FieldsOf(Marker):
    """`Annotated[ModelSettings, FieldsOf(ModelSettings, encoder=…)]`: a group of settings read into a dataclass.

    `types` complete annotations that leave something open. With `aliases`, a text in the group's place or its `name`
    stands for some of the settings, as `resolve` tells; `advice` says what to write instead of something else.
    """

    def __init__(
        self,
        kind: type,
        aliases: Iterable[str] = (),
        resolve: Alias | None = None,
        advice: Advice | None = None,
        **types: Any,
    ) -> None:
        self.kind, self.aliases, self.resolve, self.advice = kind, sorted(aliases), resolve, advice
        self.fields = Fields(declared(kind, types))

    def names(self) -> Iterable[str]:
        """Its settings."""
        return self.fields.settings

    def spelled(self, value: Any) -> Any:
        """A name becomes the settings it stands for, so that it is laid on others as they are: setting by setting."""
        try:
            group = self._group(value)
        except ConfigError:
            return value
        return self.fields.spelled(group)

    def read(self, value: Any) -> Any:
        """A group of settings or an alias → the dataclass."""
        faults: list[Fault] = []
        try:
            values = self.fields.read(self._group(value), faults)
            if not faults:
                return self.kind(**values)
        except ConfigError as error:
            faults += error.faults
        return refuse(faults, value)

    def schema(self) -> dict[str, Any]:
        """An object, or one of the aliases."""
        whole = self.fields.schema(first_line(self.kind))
        if not self.aliases:
            return whole
        names = {"enum": self.aliases}
        return {"anyOf": [names, {**whole, "properties": {"name": names, **whole["properties"]}}]}

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
        table: Registry[Any],
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
        return {name for fields in self.fields.values() for name in fields.settings}

    @cached_property
    def fields(self) -> dict[str, Fields]:
        """Of each row. Looked up when they are needed: a part may be made of parts of its own table."""
        return {name: Fields(self.table.settings(name), self.table.inherits) for name in self.table}

    def read(self, value: Any) -> Choice:
        """`name` or `{name: …, setting: …}` → Choice."""
        group = self._group(value)
        name = group.get("name") if isinstance(group, Mapping) else None
        if not isinstance(name, str):
            problem = f"must be the name of a part, or its name and settings, not {shown(value)}"
            refuse([Fault("", problem, nearest("", self.table))], value)
        if name not in self.table:
            hint = self.table.advice(name) if self.table.advice else ""
            refuse([Fault("", f"there is no '{name}'", hint or nearest(name, self.table))], value)
        faults: list[Fault] = []
        values = self.fields[name].read({key: item for key, item in group.items() if key != "name"}, faults)
        if faults:
            refuse((fault if fault.place in self.fields[name].settings else _named(fault) for fault in faults), value)
        return Choice(name, values)

    def schema(self) -> dict[str, Any]:
        """A name alone where nothing must be given, or an object. Parts of parts of parts may have any settings."""
        around = _AROUND.get()
        if around.count(self) == DEPTH:
            names = {"enum": sorted(self.table)}
            return {"anyOf": [names, {"type": "object", "properties": {"name": names}, "required": ["name"]}]}
        token = _AROUND.set((*around, self))
        try:
            rows = [self._row(name) for name in sorted(self.table)]
        finally:
            _AROUND.reset(token)
        free = [name for name in self.table if not self.fields[name].needed]
        listed = {"enum": sorted({*free, *self.aliases})}
        text: dict[str, Any] = {"type": "string"} if self.short and not self.aliases else listed
        files = {"type": "object", "additionalProperties": {"type": "string"}, "not": {"required": ["name"]}}
        return {"anyOf": [text, *rows, *([files] if self.unnamed else [])]}

    def spelled(self, value: Any) -> Any:
        """An alias, alone or with settings, becomes what it stands for; also in the settings of the part."""
        group = self._group(value)
        if not isinstance(group, Mapping):
            return value
        if isinstance(value, str) and len(group) == 1:
            return group["name"]
        name = group.get("name")
        rows = [self.fields[name]] if isinstance(name, str) and name in self.table else list(self.fields.values())
        return {key: next((row.spelled({key: item})[key] for row in rows if key in row.settings), item)
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

    def _row(self, name: str) -> dict[str, Any]:
        row = self.fields[name].schema(first_line(self.table[name]))
        return {
            **row,
            "properties": {"name": {"const": name}, **row["properties"]},
            "required": ["name", *row["required"]],
        }


def _named(fault: Fault) -> Fault:
    """With a hint where what is no setting is what others call the name of a part."""
    return fault._replace(hint="did you mean 'name'?") if fault.place in ("type", "kind", "class") else fault


class OneOrMany:
    """`Annotated[tuple[Choice, ...], OneOrMany()]`: a list, or its only item."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(_listed, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        many = handler(schema)
        return {"anyOf": [many["items"], many]}


def _listed(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]
