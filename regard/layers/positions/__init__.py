"""Absolute positions. One file a row, each built with (dim,)."""

from regard.layers.positions.learned import LearnedPosition
from regard.layers.positions.position import Position
from regard.layers.positions.sinusoidal import SinusoidalPosition
from regard.registry import Registry

POSITIONS: Registry[Position] = Registry(
    "model.position", {"learned": LearnedPosition, "sinusoidal": SinusoidalPosition}
)
