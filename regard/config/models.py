"""Named, typed settings → one strict pydantic model: bounds, defaults, JSON schema, and all faults at once."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from inspect import Parameter, cleandoc
from types import UnionType
from typing import Annotated, Any, NamedTuple, Self, Union, get_args, get_origin, get_type_hints

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Strict,
    ValidationError,
    ValidationInfo,
    create_model,
    field_validator,
)
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import CoreSchema, core_schema

from regard.config.descriptions import Fixed, bears, described
from regard.config.faults import faults_of
from regard.config.merging import lay
from regard.config.values import as_values
from regard.errors import ConfigError, nearest
from regard.synonyms import renamed_settings


class Setting(NamedTuple):
    """A keyword-only parameter of a part, or a field of a group of settings."""

    annotation: Any
    default: Any  # inspect.Parameter.empty when it must be given
    about: str = ""  # one sentence
    fixed: bool = False  # True: it cannot change in a run which has begun


class SharedSettings:
    """Base of dataclasses whose fields are settings of each row that has one of them for a keyword-only parameter."""


class Marker(ABC):
    """Marker in `Annotated[…]` with its own way to read a plain value."""

    @abstractmethod
    def read(self, value: Any) -> Any:
        """A plain value → what it means. Raises ConfigError with places as seen from the value."""

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """Return the allowed values, as a JSON schema."""

    def spelled(self, value: Any) -> Any:
        """A plain value with every name in it that stands for settings replaced by these; what is wrong is left."""
        return value

    def names(self) -> Iterable[str]:
        """Of the settings in it, where it is a group that always has the same."""
        return ()

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return self.schema()


class _Values(Marker):
    """Reader of each value of a mapping."""

    def __init__(self, marker: Marker) -> None:
        self.marker = marker

    def read(self, value: Any) -> Any:
        return {name: self.marker.read(item) for name, item in value.items()}

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": self.marker.schema()}

    def spelled(self, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return {name: self.marker.spelled(item) for name, item in value.items()}


class Settings(BaseModel):
    """Settings by name. What is given of one is laid on its default."""

    model_config = ConfigDict(
        extra="forbid",
        allow_inf_nan=False,
        validate_default=True,
        arbitrary_types_allowed=True,
        protected_namespaces=(),
    )

    @field_validator("*", mode="before")
    @classmethod
    def _laid(cls, value: Any, info: ValidationInfo) -> Any:
        name = str(info.field_name)
        field, marker = cls.model_fields[name], cls._markers().get(name)
        given = value if marker is None else marker.spelled(value)
        return given if field.is_required() else lay(field.default, given)

    @classmethod
    def check(cls, given: Mapping[str, Any]) -> Self:
        """The settings, complete with defaults. Raises ConfigError with every fault."""
        given = cls.renamed(given)
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            faults = faults_of(error, given)
        unknown = given.keys() - cls.model_fields.keys()
        raise ConfigError.of(f._replace(hint=cls._nearest(f.place)) if f.place in unknown else f for f in faults)

    @classmethod
    def spell(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return given values, with every name that stands for settings replaced by these."""
        markers = cls._markers()
        return {
            name: markers[name].spelled(value) if name in markers else value
            for name, value in cls.renamed(given).items()
        }

    @classmethod
    def renamed(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return given values under the present names of settings; warn of each old name. The last value counts."""
        return present_names(given, cls.old_names(), cls.__name__)

    @classmethod
    @cache
    def old_names(cls) -> Mapping[str, str]:
        """Names of settings in former releases, with the present ones."""
        return renamed_settings(cls.__name__, cls.model_fields)

    @classmethod
    def schema_object(cls) -> dict[str, Any]:
        """The JSON schema, without titles."""
        schema = cls.model_json_schema(schema_generator=_Untitled)
        return {key: value for key, value in schema.items() if key != "title"}

    @classmethod
    @cache
    def _markers(cls) -> dict[str, Marker]:
        found: dict[str, Marker] = {}
        for name, field in cls.model_fields.items():
            optional = [mark for one in get_args(field.annotation) for mark in getattr(one, "__metadata__", ())]
            for mark in (*field.metadata, *optional):
                if isinstance(mark, Marker):
                    found[name] = _Values(mark) if get_origin(field.annotation) is Mapping else mark
        return found

    @classmethod
    def _nearest(cls, unknown: str) -> str:
        """A hint at the groups that have a setting of that name, or at the nearest name."""
        groups = [f"'{group}.{unknown}'" for group, one in cls._markers().items() if unknown in one.names()]
        return f"did you mean {' or '.join(groups)}?" if groups else nearest(unknown, cls.model_fields)


def present_names(given: Mapping[str, Any], old_names: Mapping[str, str], part: str) -> dict[str, Any]:
    """Return values under present names; warn of each old one, with the part or group that it belongs to."""
    for name in given.keys() & old_names.keys():
        message = f"'{name}' of {part} is now '{old_names[name]}'; the old name is read for one more release"
        warnings.warn(message, FutureWarning, stacklevel=2)
    return {old_names.get(name, name): value for name, value in given.items()}


class _Untitled(GenerateJsonSchema):
    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def settings_model(name: str, settings: Mapping[str, Setting], doc: str | None) -> type[Settings]:
    """The model of some settings. `doc` begins with the line that describes them in a JSON schema."""
    fields: Any = {
        key: (
            strict(setting.annotation),
            Field(
                ... if setting.default is Parameter.empty else as_values(setting.default),
                description=setting.about or None,
            ),
        )
        for key, setting in settings.items()
    }
    return create_model(name, __base__=Settings, __doc__=cleandoc(doc or "").partition("\n")[0], **fields)


def declared(kind: type, types: Mapping[str, Any] | None = None) -> dict[str, Setting]:
    """The fields of a dataclass as settings; `types` say what its annotations leave open (which table)."""
    hints = get_type_hints(kind, include_extras=True)
    completed = {**hints, **(types or {})}
    settings = {}
    for field in fields(kind):
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        hint, empty = hints[field.name], Parameter.empty if default is MISSING else default
        about = described(hint, field.name, kind.__doc__)
        settings[field.name] = Setting(completed[field.name], empty, about, bears(hint, Fixed))
    return settings


def strict(annotation: Any) -> Any:
    """The same type, taking neither texts for numbers nor numbers for truth values, at any depth.

    Not pydantic's strict mode: that one takes no list for a tuple and no text for a path either.
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation in (int, float, bool, str):
        return Annotated[annotation, Strict()]
    if origin is Annotated:
        return Annotated[(strict(arguments[0]), *annotation.__metadata__)]
    if origin in (Union, UnionType):
        return Union[tuple(strict(argument) for argument in arguments)]  # noqa: UP007  made at run time
    if origin in (tuple, Mapping):
        return origin[tuple(strict(argument) for argument in arguments)]
    return annotation
