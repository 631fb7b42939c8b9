"""The contract of what stands in `Annotated[…]` so that plain values are read their own way."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, get_args

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema


class Marker(ABC):
    """What stands in `Annotated[…]` to read a plain value its own way."""

    @abstractmethod
    def read(self, value: Any) -> Any:
        """A plain value → what it means. Raises ConfigError."""

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """What may stand there, as a JSON schema."""

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


def marker_of(annotation: Any) -> Marker | None:
    """The marker of a setting, if it has one."""
    return next((one for one in get_args(annotation) if isinstance(one, Marker)), None)
