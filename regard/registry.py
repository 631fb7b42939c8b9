"""Names → parts. A table is written out in its folder's `__init__.py`: one line a part, no scanning."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar, get_type_hints

from regard.aliases import aliases_of, bare
from regard.config import Choice, Fixed, SharedSettings, notes_at
from regard.config.descriptions import bears, described, listed_before
from regard.config.models import Setting, Settings, declared, settings_model
from regard.errors import ConfigError, PartError, nearest

__all__ = ["Choice", "Registry", "Setting"]

T = TypeVar("T")


class Registry(Generic[T]):
    """A table of parts. `place` is where a config names one of them: `Registry("attention.score", {...})`.

    `inherits` names settings that a config may leave open: the model around the part gives them to `build`. `within`
    is what a config says of a part that stands inside of another: `"model={{name: tagger, head: {part}}}"`, where
    `{side}` is encoder or decoder.
    """

    def __init__(
        self,
        place: str,
        parts: Mapping[str, Callable[..., T]],
        *,
        inherits: tuple[str, ...] = (),
        within: str = "{place}={part}",
    ) -> None:
        self.place, self.inherits, self.within = place, inherits, within
        self.advice: Callable[[str], str] | None = None  # on names of other tables; set where all tables are known
        self._parts = dict(parts)
        self._added = set[str]()  # names of rows from outside the package
        self._settings: dict[str, dict[str, Setting]] = {}
        self._models: dict[str, type[Settings]] = {}
        self._groups: dict[str, dict[str, tuple[type[SharedSettings], frozenset[str]]]] = {}  # of settings of a row

    def fill(self, parts: Mapping[str, Callable[..., T]]) -> None:
        """The rows of a table that was declared without any, since some of its parts are made of its parts."""
        self._parts |= parts

    def check(self, parts: Mapping[str, Callable[..., T]]) -> None:
        """Raise PartError for rows from outside the package that cannot be added: their names and settings."""
        for name, part in parts.items():
            found = self.find(name)
            if found is not None and found.name not in self._added:
                known = f"there is a '{name}'" if name in self._parts else f"'{name}' is a name of '{found.name}'"
                raise PartError(f"{known} already", "choose another name", setting=name)
            try:
                Registry(self.place, {name: part}).settings(name)
            except (PartError, NameError, TypeError) as error:
                raise PartError(str(error), setting=name) from error

    def add(self, parts: Mapping[str, Callable[..., T]]) -> None:
        """Add rows from outside the package, or replace such rows. Raises PartError, and then adds none."""
        self.check(parts)
        self._parts |= parts
        self._added |= parts.keys()
        for known in (self._settings, self._models, self._groups):
            for name in parts:
                known.pop(name, None)

    def __getitem__(self, name: str) -> Callable[..., T]:
        if name not in self._parts:
            raise self._unknown(name).inside(self.place)
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
        """Return the settings of a part: its keyword-only parameters, so the signature is the schema.

        Of a parameter that is a `SharedSettings`: its fields.
        """
        if name not in self._settings:
            found = dict[str, Setting]()
            for parameter, (annotation, default) in self._parameters(name).items():
                if shared := _shared(annotation):
                    found |= declared(shared)
                else:
                    about = described(annotation, parameter, self[name].__doc__)
                    found[parameter] = Setting(annotation, default, about, bears(annotation, Fixed))
            self._settings[name] = _ordered(found)
        return dict(self._settings[name])

    def model(self, name: str) -> type[Settings]:
        """The strict pydantic model of a part's settings."""
        if name not in self._models:
            self._models[name] = settings_model(name, self.settings(name), self[name].__doc__)
        return self._models[name]

    def build(self, choice: Choice, *wiring: Any, given: Mapping[str, Any] = {}, place: str | None = None) -> T:
        """The part itself; `wiring` is what the surrounding model knows, the same for every row of a table.

        A setting in `given` goes to a part that has such a setting and no value of its own for it. A part that is
        built inside another says in `place` which setting of the other names it ("cell", "encoders.0"), so that a fault
        names its full place; without `place` the fault names the table's.

        Raises ConfigError for settings that are unknown, missing, of the wrong type or out of their bounds, and for
        those that the part itself refuses (PartError).
        """
        try:
            settings = self._checked(choice, given)
            with notes_at(self.place if place is None else place, absolute=place is None):
                return self._parts[choice.name](*wiring, **self._grouped(choice.name, settings))
        except PartError as error:
            if place is None:
                raise error.inside(self.place) from error
            raise PartError.of(error.inside(place).faults) from error

    def _checked(self, choice: Choice, given: Mapping[str, Any]) -> dict[str, Any]:
        """The settings that are given, as their types read them."""
        if choice.name not in self._parts:
            raise self._unknown(choice.name)
        model = self.model(choice.name)
        inherited = {name: value for name, value in given.items() if name in model.model_fields}
        try:
            settings = model.check({**inherited, **choice.settings})
        except ConfigError as error:
            raise PartError.of(error.faults) from None
        return {name: value for name, value in settings if name in settings.model_fields_set}

    def _grouped(self, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments of a part: its settings, those of each group as one value."""
        if name not in self._groups:
            shared = {key: _shared(annotation) for key, (annotation, _) in self._parameters(name).items()}
            self._groups[name] = {key: (kind, frozenset(declared(kind))) for key, kind in shared.items() if kind}
        arguments = dict(settings)
        for key, (kind, fields) in self._groups[name].items():
            arguments[key] = kind(**{field: arguments.pop(field) for field in fields & arguments.keys()})
        return arguments

    def _parameters(self, name: str) -> dict[str, tuple[Any, Any]]:
        """Its keyword-only parameters: the annotation and the default of each."""
        part = self[name]
        target = part.__init__ if inspect.isclass(part) else part
        hints = get_type_hints(target, include_extras=True)  # a part may name another table: PartOf
        parameters = inspect.signature(part).parameters.values()
        found = [one for one in parameters if one.kind is one.KEYWORD_ONLY]
        if bare := next((one.name for one in found if one.name not in hints), None):
            raise PartError(
                f"'{name}' has a setting without a type: {bare}", f"annotate it, such as {bare}: float = 1.0"
            )
        return {one.name: (hints[one.name], one.default) for one in found}

    def _unknown(self, name: str) -> PartError:
        return PartError(f"there is no '{name}'", nearest(name, self._parts))


def _shared(annotation: Any) -> type[SharedSettings] | None:
    return annotation if inspect.isclass(annotation) and issubclass(annotation, SharedSettings) else None


def _ordered(settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """The same settings; one that says so stands in front of another."""
    names = [name for name, one in settings.items() if listed_before(one.annotation) not in settings]
    for name, one in settings.items():
        if name not in names:
            names.insert(names.index(listed_before(one.annotation)), name)
    return {name: settings[name] for name in names}
