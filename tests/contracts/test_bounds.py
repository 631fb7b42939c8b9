"""Every number that a config may set says in its signature between which bounds it lies, or that any will do."""

from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

import pytest

from regard.config import FieldsOf
from regard.config.bounds import ANY
from regard.config.models import declared
from regard.experiment import MECHANISMS, TABLES, Experiment
from regard.registry import Registry, Setting

ROWS = [(table, name) for table in {**TABLES, **MECHANISMS}.values() for name in table]
LIMITS = ("ge", "gt", "le", "lt")


def unbounded(annotation: Any, *, said: bool = False) -> Iterator[str]:
    """The numbers in a type that say nothing of their bounds."""
    if get_origin(annotation) is Annotated:
        annotation, *marks = get_args(annotation)
        said = any(mark is ANY or any(hasattr(mark, limit) for limit in LIMITS) for mark in marks)
        yield from unbounded(annotation, said=said)
    elif annotation in (int, float):
        yield from [] if said else [annotation.__name__]
    elif get_origin(annotation) is not None:
        for inner in get_args(annotation):
            yield from unbounded(inner)


def open_numbers(settings: dict[str, Setting]) -> list[str]:
    return [name for name, setting in settings.items() if list(unbounded(setting.annotation))]


@pytest.mark.parametrize(("table", "name"), ROWS, ids=lambda value: value if isinstance(value, str) else value.place)
def test_numbers_of_a_row_say_their_bounds(table: Registry[Any], name: str):
    assert open_numbers(table.settings(name)) == []


def groups(group: FieldsOf) -> Iterator[FieldsOf]:
    """A group of settings and those inside."""
    yield group
    for setting in declared(group.kind, group.types).values():
        for mark in get_args(setting.annotation):
            if isinstance(mark, FieldsOf):
                yield from groups(mark)


@pytest.mark.parametrize("group", [*groups(FieldsOf(Experiment))], ids=lambda group: group.kind.__name__)
def test_numbers_of_a_group_say_their_bounds(group: FieldsOf):
    assert open_numbers(declared(group.kind, group.types)) == []
