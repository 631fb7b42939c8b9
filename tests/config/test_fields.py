"""Settings checked where they are declared: dataclasses, the signatures of parts, lists of parts."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import pytest
from annotated_types import Gt

from regard.config import FieldsOf, OneOrMany, PartOf, as_values, read_settings
from regard.config.bounds import Fraction, Size
from regard.config.markers import schema_of
from regard.errors import ConfigError
from regard.registry import Choice, Registry


class Window:
    """Looks at a few."""

    def __init__(self, dim: int, *, size: Size = 3, dropout: Fraction = 0.2) -> None: ...


class Wide:
    """Looks at all."""

    def __init__(self, dim: int) -> None: ...


class Strange:
    """Has one setting of every kind."""

    def __init__(
        self,
        *,
        hidden_dim: Size,
        kind: Literal["mean", "last"] = "mean",
        sizes: tuple[int, ...] = (1, 2),
        file: Path | None = None,
        scale: float | bool = True,
    ) -> None: ...


SPANS: Registry[object] = Registry("span", {"window": Window, "wide": Wide, "strange": Strange})
OPEN: Registry[object] = Registry("span", {"wide": Wide, "window": Window}, inherits=("dropout",))


@dataclass(frozen=True)
class Socket:
    """A place for parts."""

    span: tuple[Choice, ...] = (Choice("wide"),)
    num_heads: Size = 1
    note: str | None = None


def resolve(name: str) -> dict[str, object]:
    if name != "local":
        raise ConfigError("socket", f"there is no '{name}'", "there is: local")
    return {"span": {"name": "window", "size": 5}}


SOCKET = FieldsOf(Socket, ["local"], resolve, span=Annotated[tuple[Annotated[Choice, PartOf(SPANS)], ...], OneOrMany()])


@dataclass(frozen=True)
class Whole:
    """All of it."""

    rate: Annotated[float, Gt(0)]
    part: Annotated[Choice, PartOf(SPANS)] = Choice("window", {"size": 7})
    open: Annotated[Choice, PartOf(OPEN)] | None = None
    socket: Annotated[Socket, SOCKET] = field(default_factory=lambda: Socket(num_heads=4))
    share: bool = True
    files: tuple[Path, ...] = ()


def faults(settings: dict[str, object]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read_settings(Whole, {"rate": 1.0, **settings})
    return str(caught.value).splitlines()


def test_defaults_are_complete():
    whole = read_settings(Whole, {"rate": 2})
    assert whole.part == Choice("window", {"size": 7, "dropout": 0.2})
    assert whole.socket == Socket((Choice("wide", {}),), num_heads=4)


def test_what_is_left_open_stays_open():
    assert read_settings(Whole, {"rate": 1, "open": "window"}).open == Choice("window", {"size": 3})


def test_a_group_is_laid_over_the_default_of_its_place():
    whole = read_settings(Whole, {"rate": 1.0, "part": {"dropout": 0.0}, "socket": {"note": "x"}})
    assert whole.part == Choice("window", {"size": 7, "dropout": 0.0})
    assert whole.socket.num_heads == 4


def test_an_alias_changes_what_it_stands_for_and_leaves_the_rest_of_the_default():
    whole = read_settings(Whole, {"rate": 1.0, "socket": "local"})
    assert whole.socket == Socket((Choice("window", {"size": 5, "dropout": 0.2}),), num_heads=4)
    assert whole == read_settings(Whole, {"rate": 1.0, "socket": {"span": {"name": "window", "size": 5}}})
    more = read_settings(Whole, {"rate": 1.0, "socket": {"name": "local", "num_heads": 2, "span": {"dropout": 0.5}}})
    assert more.socket == Socket((Choice("window", {"size": 5, "dropout": 0.5}),), num_heads=2)


def test_one_part_or_several():
    one = read_settings(Whole, {"rate": 1.0, "socket": {"span": {"name": "window", "size": 2}}})
    two = read_settings(Whole, {"rate": 1.0, "socket": {"span": ["wide", "window"]}})
    assert [part.name for part in one.socket.span] == ["window"]
    assert [part.name for part in two.socket.span] == ["wide", "window"]


def test_plain_values_read_back_the_same():
    part = {"name": "strange", "hidden_dim": 4, "sizes": [3], "file": "a/b", "scale": 0.5}
    whole = read_settings(Whole, {"rate": 1.0, "part": part, "files": ["x", "y"], "socket": "local"})
    assert whole.part.settings["file"] == Path("a/b")
    assert whole.part.settings["sizes"] == (3,)
    assert read_settings(Whole, as_values(whole)) == whole


PART = "part: must be the name of a part, or its name and settings"
STRANGE = {"name": "strange", "hidden_dim": 1}


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"rate": None}, "rate: must be a number, not nothing"),
        ({"rate": "0.1"}, "rate: must be a number, not '0.1' (without the quotes)"),
        ({"rate": True}, "rate: must be a number, not true"),
        ({"rate": float("nan")}, "rate: must be a finite number, not nan"),
        ({"rate": -1}, "rate: must be greater than 0, not -1"),
        ({"share": 1}, "share: must be true or false, not 1"),
        ({"share": "yes"}, "share: must be true or false, not 'yes'"),
        ({"shared": True}, "shared: there is no such setting (did you mean 'share'?)"),
        ({"part": "windw"}, "part: there is no 'windw' (did you mean 'window'?)"),
        ({"part": {"name": "windw"}}, "part: there is no 'windw' (did you mean 'window'?)"),
        ({"part": 3}, PART + ", not 3 (there is: strange, wide, window)"),
        ({"part": {"sise": 3}}, "part.sise: there is no such setting (did you mean 'size'?)"),
        ({"part": {"name": "wide", "size": 3}}, "part.size: there is no such setting (there is none)"),
        ({"part": {"size": 3.0}}, "part.size: must be a whole number, not 3.0"),
        ({"part": {"dropout": 1}}, "part.dropout: must be less than 1, not 1"),
        ({"part": {"name": "strange"}}, "part.hidden_dim: must be given"),
        ({"part": {"name": "strange", "hidden_dim": 0}}, "part.hidden_dim: must be at least 1, not 0"),
        ({"part": STRANGE | {"kind": "men"}}, "part.kind: there is no 'men' (did you mean 'mean'?)"),
        (
            {"part": STRANGE | {"sizes": [1, "2"]}},
            "part.sizes.1: must be a whole number, not '2' (without the quotes)",
        ),
        ({"part": STRANGE | {"sizes": 3}}, "part.sizes: must be a list, not 3"),
        (
            {"part": STRANGE | {"scale": "x"}},
            "part.scale: must be a number or true or false, not 'x'",
        ),
        ({"files": "x"}, "files: must be a list, not 'x'"),
        ({"files": [1]}, "files.0: must be a path, not 1"),
        ({"socket": 3}, "socket: must be a name or a group of settings, not 3"),
        ({"socket": "locl"}, "socket: there is no 'locl' (there is: local)"),
        ({"socket": {"num_heads": -2}}, "socket.num_heads: must be at least 1, not -2"),
        ({"socket": {"note": 3}}, "socket.note: must be text, not 3 (in quotes)"),
        ({"socket": {"span": "wid"}}, "socket.span: there is no 'wid' (did you mean 'wide'?)"),
        (
            {"socket": {"span": ["wide", {"name": "window", "sice": 1}]}},
            "socket.span.1.sice: there is no such setting (did you mean 'size'?)",
        ),
        ({"socket": {"span": {"4": "wide"}}}, "socket.span.4: the list has 1 items, counted from 0"),
    ],
    ids=str,
)
def test_a_fault_says_where_what_and_what_was_meant(settings, line):
    assert faults(settings) == [line]


def test_all_faults_at_once():
    settings = {
        "rate": "x",
        "part": {"name": "strange", "kind": 3, "sizes": ["a", "b"]},
        "socket": {"span": ["a", {"name": "window", "size": "b"}], "num_heds": 1},
        "colour": "blue",
    }
    places = {line.partition(":")[0] for line in faults(settings)}
    assert places == {
        "rate",
        "part.hidden_dim",
        "part.kind",
        "part.sizes.0",
        "part.sizes.1",
        "socket.span.0",
        "socket.span.1.size",
        "socket.num_heds",
        "colour",
    }


def test_what_must_be_given():
    with pytest.raises(ConfigError, match=r"^rate: must be given$"):
        read_settings(Whole, {})


def test_the_schema_knows_parts_and_aliases():
    schema = schema_of(Whole)
    assert schema["required"] == ["rate"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["rate"] == {"exclusiveMinimum": 0, "type": "number"}
    listed, *others = schema["$defs"][schema["properties"]["part"]["$ref"].removeprefix("#/$defs/")]["anyOf"]
    rows = {row["properties"]["name"]["const"]: row for row in others}
    assert rows["strange"]["required"] == ["name", "hidden_dim"]
    assert rows["window"]["description"] == "Looks at a few."
    assert rows["window"]["properties"]["dropout"]["default"] == 0.2
    assert listed == {"enum": ["wide", "window"]}  # strange needs a setting
    assert schema["properties"]["socket"]["anyOf"][0] == {"enum": ["local"]}
