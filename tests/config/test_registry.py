"""The table of parts itself: what its rows are built with."""

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
