"""A recurrent layer in place of self-attention, as fast decoders have it (https://aclanthology.org/D19-5632)."""

from typing import Annotated

from torch import Tensor

from regard.config import Doc
from regard.layers.layer import Layer
from regard.layers.recurrent import RECURRENT, Cell
from regard.layers.recurrent.recurrent import Past
from regard.ops.kernels.transformer import StandardRecurrence
from regard.ops.linear import Linear
from regard.registry import Choice


class RecurrentHistory(Layer):
    """h_t = f(h_(t-1), y_t), f any recurrent layer: the state of generated words has the width of one word.

    With `out_proj` its output is h_t W + b.
    """

    def __init__(
        self,
        dim: int,
        hidden_dim: int,
        *,
        cell: Cell = Choice("ssru"),
        out_proj: Annotated[bool, Doc("Output projection of the states.")] = False,
    ) -> None:
        super().__init__()
        self.dim = dim
        self.layer = RECURRENT.build(cell, dim, dim, place="cell")
        self.out_proj = Linear(dim, dim) if out_proj else None

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Past | None = None) -> tuple[Tensor, Past]:
        """y (batch, n, dim) → h (batch, n, dim), the layer's past."""
        states, after = self.layer(inputs, mask, past)
        return states if self.out_proj is None else self.out_proj(states), after

    def recurrence(self) -> StandardRecurrence | None:
        unit = self.layer.recurrence()
        return None if unit is None else unit._replace(out=self.out_proj)
