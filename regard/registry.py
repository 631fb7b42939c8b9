"""Names → parts. A table is written out in its folder's `__init__.py`: one line a part, no scanning."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar, get_type_hints

from regard.aliases import aliases_of, bare
from regard.errors import ConfigError, nearest

T = TypeVar("T")


class Choice(NamedTuple):
    """A part by name with its settings, as a config spells it."""

    name: str
    settings: Mapping[str, Any] = {}


class Setting(NamedTuple):
    """A keyword-only parameter of a part."""

    annotation: Any
    default: Any  # inspect.Parameter.empty when it must be given


class Registry(Generic[T]):
    """A table of parts. `place` is where a config names one of them: `Registry("attention.score", {...})`.

    `inherits` names settings that a config may leave open: the model around the part gives them to `build`.
    """

    def __init__(self, place: str, parts: Mapping[str, Callable[..., T]], *, inherits: tuple[str, ...] = ()) -> None:
        self.place, self.inherits = place, inherits
        self.advice: Callable[[str], str] | None = None  # on names of other tables; set where all tables are known
        self._parts = dict(parts)

    def fill(self, parts: Mapping[str, Callable[..., T]]) -> None:
        """The rows of a table that was declared without any, since some of its parts are made of its parts."""
        self._parts |= parts

    def __getitem__(self, name: str) -> Callable[..., T]:
        if name not in self._parts:
            raise ConfigError(self.place, f"there is no '{name}'", nearest(name, self._parts))
        return self._parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __contains__(self, name: object) -> bool:
        return name in self._parts

    def __len__(self) -> int:
        return len(self._parts)

    def aliases(self) -> dict[str, Choice]:
        """Other names of its rows → the row and the settings they stand for."""
        return {
            name: Choice(row, one.settings)
            for row, part in self._parts.items()
            for one in aliases_of(part)
            for name in one.names
            if name != row
        }

    def find(self, name: str) -> Choice | None:
        """Return the row that a name stands for, however it is spelled."""
        known = {bare(alias): choice for alias, choice in self.aliases().items()}
        return {**known, **{bare(row): Choice(row) for row in self._parts}}.get(bare(name))

    def settings(self, name: str) -> dict[str, Setting]:
        """What a user may set of a part: its keyword-only parameters, so the signature is the schema."""
        part = self[name]
        target = part.__init__ if inspect.isclass(part) else part
        hints = get_type_hints(target, include_extras=True)  # a part may name another table: PartOf
        parameters = inspect.signature(part).parameters.values()
        return {
            parameter.name: Setting(hints[parameter.name], parameter.default)
            for parameter in parameters
            if parameter.kind is parameter.KEYWORD_ONLY
        }

    def build(self, choice: Choice, *wiring: Any, given: Mapping[str, Any] = {}) -> T:
        """The part itself; `wiring` is what the surrounding model knows, the same for every row of a table.

        A setting in `given` goes to a part that has such a setting and no value of its own for it.
        """
        allowed = self.settings(choice.name)
        for name in choice.settings:
            if name not in allowed:
                raise ConfigError(f"{self.place}.{name}", "there is no such setting", nearest(name, allowed))
        inherited = {name: value for name, value in given.items() if name in allowed}
        return self[choice.name](*wiring, **{**inherited, **choice.settings})
