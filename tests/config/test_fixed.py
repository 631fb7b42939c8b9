"""Settings that a run which has begun cannot change say so themselves."""

from dataclasses import dataclass
from typing import Annotated

from regard.config import Doc, FieldsOf, Fixed, PartOf
from regard.experiment import Experiment
from regard.experiment.settings_help import places
from regard.registry import Choice, Registry


@dataclass(frozen=True)
class Inner:
    seed: Annotated[int, Doc("Number."), Fixed()] = 1
    lines: Annotated[int, Doc("Lines.")] = 2


class Row:
    def __init__(self, *, scale: Annotated[float, Fixed()] = 1.0, width: int = 2) -> None:
        pass


@dataclass(frozen=True)
class Outer:
    inner: Annotated[Inner, FieldsOf(Inner)] = Inner()
    part: Annotated[Choice, PartOf(Registry("part", {"row": Row}))] = Choice("row")
    whole: Annotated[Inner | None, Fixed()] = None


def fixed_settings(kind):
    return {one.place for one in places(kind) if one.fixed}


def test_groups_and_rows_of_parts_are_walked():
    assert fixed_settings(Outer) == {"inner.seed", "part.scale", "whole"}


def test_what_orders_the_data_is_fixed_and_limits_are_free():
    found = fixed_settings(Experiment)
    assert {"training.seed", "training.optimizer", "text", "data.folds", "model.init_uniform"} <= found
    assert not {one for one in found if one.startswith(("training.max_", "decoding", "evaluation"))}
