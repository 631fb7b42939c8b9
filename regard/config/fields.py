"""Settings checked against the types where they are declared: dataclasses and the signatures of parts."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import cached_property
from inspect import Parameter, cleandoc
from typing import Any, TypeVar, get_type_hints

from pydantic import TypeAdapter, ValidationError

from regard.config.faults import found
from regard.config.marker import Marker, marker_of
from regard.config.merging import lay
from regard.config.plain import plain
from regard.config.types import limited, strict
from regard.errors import ConfigError, Fault, nearest
from regard.registry import Setting

T = TypeVar("T")


def read_settings(kind: type[T], settings: Mapping[str, Any]) -> T:
    """An instance of a dataclass out of plain values. Every fault at once, as one ConfigError."""
    faults: list[Fault] = []
    values = Fields(declared(kind)).read(settings, faults)
    if faults:
        raise ConfigError.of(faults)
    return kind(**values)


def spelled(kind: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings for a dataclass, with every name in them that stands for settings replaced by these.

    So whatever they are laid on keeps what the name says nothing of. What is wrong is left to `read_settings`.
    """
    return Fields(declared(kind)).spelled(settings)


def schema_of(kind: type) -> dict[str, Any]:
    """The JSON schema of a settings file that `read_settings` takes for `kind`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Fields(declared(kind)).schema(first_line(kind)),
    }


def declared(kind: type, types: Mapping[str, Any] | None = None) -> dict[str, Setting]:
    """The fields of a dataclass as settings; `types` say what its annotations leave open (which table)."""
    hints = {**get_type_hints(kind, include_extras=True), **(types or {})}
    settings = {}
    for field in fields(kind):
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        settings[field.name] = Setting(hints[field.name], Parameter.empty if default is MISSING else default)
    return settings


class Fields:
    """Named settings with types and defaults."""

    def __init__(self, settings: Mapping[str, Setting], leave: tuple[str, ...] = ()) -> None:
        self.settings = dict(settings)
        self.leave = leave  # what stays open when it is not given

    @cached_property
    def _adapters(self) -> dict[str, TypeAdapter[Any]]:
        return {name: TypeAdapter(strict(limited(name, setting.annotation))) for name, setting in self.settings.items()}

    def read(self, given: Mapping[str, Any], faults: list[Fault]) -> dict[str, Any]:
        """Checked values, complete with defaults; what is wrong goes to `faults`."""
        faults += [
            Fault(name, "there is no such setting", self._inside(name) or nearest(name, self.settings))
            for name in given
            if name not in self.settings
        ]
        values = {}
        for name, setting in self.settings.items():
            default = setting.default
            if name not in given and default is Parameter.empty:
                faults.append(Fault(name, "must be given"))
            elif name in given or name not in self.leave:
                value = plain(default)
                try:
                    value = lay(value, self._spelled(name, given[name]), name) if name in given else value
                    values[name] = self._adapters[name].validate_python(value)
                except ValidationError as error:
                    faults += found(error, name, value)
                except ConfigError as error:  # a list has no such item
                    faults += error.faults
        return values

    def spelled(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What is given, with every name that stands for settings replaced by these."""
        return {name: self._spelled(name, value) for name, value in given.items()}

    @cached_property
    def _markers(self) -> dict[str, Marker]:
        found = {name: marker_of(setting.annotation) for name, setting in self.settings.items()}
        return {name: marker for name, marker in found.items() if marker is not None}

    def _inside(self, name: str) -> str:
        """A hint at the groups that have a setting of that name, or ""."""
        groups = [f"'{group}.{name}'" for group, marker in self._markers.items() if name in marker.names()]
        return f"did you mean {' or '.join(groups)}?" if groups else ""

    def _spelled(self, name: str, value: Any) -> Any:
        return self._markers[name].spelled(value) if name in self._markers else value

    def schema(self, title: str = "") -> dict[str, Any]:
        """As a JSON schema object."""
        properties = {}
        for name, setting in self.settings.items():
            properties[name] = self._adapters[name].json_schema()
            if setting.default is not Parameter.empty:
                properties[name]["default"] = plain(setting.default)
        about = {"description": title} if title else {}
        return {
            **about,
            "type": "object",
            "properties": properties,
            "required": self.needed,
            "additionalProperties": False,
        }

    @property
    def needed(self) -> list[str]:
        """What must be given."""
        return [name for name, setting in self.settings.items() if setting.default is Parameter.empty]


def first_line(thing: Any) -> str:
    """The first line of a docstring."""
    return cleandoc(thing.__doc__ or "").partition("\n")[0]
