"""The table of parts itself: what its rows are built with."""

from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from regard.config import Before, Doc, PartOf, SharedSettings
from regard.config.bounds import Count, Size
from regard.errors import ConfigError, PartError
from regard.registry import Choice, Registry


class Layer:
    """A part with a setting that the model around it has, too."""

    def __init__(self, dim: int, *, dropout: float = 0.5, depth: int = 1) -> None:
        self.built = dim, dropout, depth


class Identity:
    """A part without any setting."""

    def __init__(self, dim: int) -> None:
        self.built = (dim,)


PARTS: Registry[Layer | Identity] = Registry("layer", {"layer": Layer, "identity": Identity}, inherits=("dropout",))


def test_part_takes_the_settings_given_to_all():
    assert PARTS.build(Choice("layer"), 3, given={"dropout": 0.25, "width": 7}).built == (3, 0.25, 1)


def test_own_setting_beats_one_given_to_all():
    choice = Choice("layer", {"dropout": 0.0, "depth": 2})
    assert PARTS.build(choice, 3, given={"dropout": 0.25}).built == (3, 0.0, 2)


def test_part_without_the_setting_is_built_without_it():
    assert PARTS.build(Choice("identity"), 3, given={"dropout": 0.25}).built == (3,)


class Window:
    """A part that refuses some settings itself."""

    def __init__(self, *, radius: Size = 1, sizes: tuple[Count, ...] = (), wide: bool = False) -> None:
        self.built = radius, sizes
        if wide and radius == 1:
            raise PartError("sees one place", "a larger radius", setting="radius")


WINDOWS: Registry[Window] = Registry("window", {"window": Window})


class Stack:
    """A part that is made of parts, and refuses what is not a setting of its own."""

    def __init__(self, *, parts: tuple[Annotated[Choice, PartOf(WINDOWS)], ...], tied: bool = False) -> None:
        self.built = [WINDOWS.build(part, place=f"parts.{number}") for number, part in enumerate(parts)]
        if tied:
            raise ConfigError("model.tied", "cannot be")


STACKS: Registry[Stack] = Registry("model.stack", {"stack": Stack})


def told(table: Registry[Any], **settings: Any) -> str:
    (name,) = table
    with pytest.raises(ConfigError) as caught:
        table.build(Choice(name, settings))
    return str(caught.value)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"radius": 0}, "window.radius: must be at least 1, not 0"),
        ({"radius": 1.5}, "window.radius: must be a whole number, not 1.5"),
        ({"radius": True}, "window.radius: must be a whole number, not true"),
        ({"sizes": [1, -1]}, "window.sizes.1: must be at least 0, not -1"),
        ({"raduis": 2}, "window.raduis: there is no such setting (did you mean 'radius'?)"),
        ({"wide": True}, "window.radius: sees one place (a larger radius)"),
    ],
    ids=str,
)
def test_wrong_settings_are_told_with_the_place_of_the_table(settings, line):
    assert told(WINDOWS, **settings) == line


def test_all_wrong_settings_are_told_at_once():
    assert len(told(WINDOWS, radius=0, sizes=3, wide="no").splitlines()) == 3


def test_missing_settings_are_told():
    assert told(STACKS) == "model.stack.parts: must be given"


@pytest.mark.parametrize("inner", [{"radius": 0}, {"wide": True}], ids=["bound", "part"])
def test_faults_of_inner_parts_have_their_full_place(inner):
    assert told(STACKS, parts=(Choice("window"), Choice("window", inner))).startswith("model.stack.parts.1.radius: ")


def test_faults_with_a_place_of_their_own_keep_it():
    assert told(STACKS, parts=(), tied=True) == "model.tied: cannot be"


def test_lists_and_names_may_be_written_as_in_a_config():
    assert WINDOWS.build(Choice("window", {"sizes": [1, 2]})).built == (1, (1, 2))
    stack = STACKS.build(Choice("stack", {"parts": ["window", {"name": "window", "radius": 3}]}))
    assert [window.built for window in stack.built] == [(1, ()), (3, ())]
    assert told(STACKS, parts=["windw"]) == "model.stack.parts.0: there is no 'windw' (did you mean 'window'?)"


def test_unknown_inner_parts_have_their_full_place():
    assert told(STACKS, parts=(Choice("windw"),)).startswith("model.stack.parts.0: there is no 'windw'")


def test_faults_of_settings_are_value_errors():
    with pytest.raises(ValueError, match="must be at least 1"):
        WINDOWS.build(Choice("window", {"radius": 0}))


@dataclass(frozen=True)
class Sizes(SharedSettings):
    """Two sizes that rows share."""

    dim: Annotated[Size, Doc("Width.")] = 8
    depth: Annotated[Size, Doc("Layers.")] = 2


def deep(
    *, name: str = "a", shared: Sizes, between: Annotated[int, Doc("Own."), Before("depth")] = 1, own: int = 3
) -> tuple[object, ...]:
    return name, shared, between, own


def test_shared_settings_are_settings_of_each_row():
    table: Registry[tuple[object, ...]] = Registry("sizes", {"deep": deep})
    assert list(table.settings("deep")) == ["name", "dim", "between", "depth", "own"]
    assert table.settings("deep")["dim"].about == "Width."
    assert table.build(Choice("deep")) == ("a", Sizes(), 1, 3)
    assert table.build(Choice("deep", {"depth": 5, "own": 4})) == ("a", Sizes(depth=5), 1, 4)
    with pytest.raises(ConfigError, match=r"sizes\.dim"):
        table.build(Choice("deep", {"dim": 0}))


class Untyped:
    """A part whose author forgot a type."""

    def __init__(self, *, temperature=1.0) -> None:
        self.built = temperature


def test_a_setting_without_a_type_is_named():
    line = "'untyped' has a setting without a type: temperature"
    assert line in told(Registry("score", {"untyped": Untyped}), temperature=2.0)
