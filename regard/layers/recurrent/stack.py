"""Stacked recurrent layers."""

from collections.abc import Sequence
from typing import Annotated

import torch
from annotated_types import Ge
from torch import Tensor

from regard.config import Doc, note
from regard.layers.layer import Layer
from regard.layers.recurrent.recurrent import Past, Recurrent
from regard.ops.dropout import Dropout
from regard.ops.modules import module_list

ResidualFrom = Annotated[Annotated[int, Ge(2)] | None, Doc("First layer with a residual connection, counted from 1.")]


class Stack(Layer):
    """Each layer reads the outputs of the one below, with dropout between them (https://arxiv.org/abs/1409.2329).

    From layer number `residual_from` on (1 is the lowest), a layer's input before dropout is added to its output.
    """

    def __init__(self, layers: Sequence[Recurrent], *, dropout: float = 0.0, residual_from: int | None = None) -> None:
        super().__init__()
        self.layers, self.dropout, self.dim = module_list(layers), Dropout(dropout), layers[-1].dim
        self.residual_from = residual_from

    def forward(
        self,
        inputs: Tensor,
        mask: Tensor | None,
        past: tuple[Past, ...] | None = None,
        beside: Tensor | None = None,
    ) -> tuple[Tensor, tuple[Past, ...]]:
        """inputs (batch, n, input_dim) → outputs (batch, n, dim) and a past per layer.

        `beside` (batch, n, …) is what every layer reads together with the outputs of the one below.
        """
        pasts = []
        outputs = inputs
        for number, layer in enumerate(self.layers):
            below = self.dropout(outputs) if number else outputs
            read = below if beside is None else torch.cat([below, beside], dim=-1)
            written, after = layer(read, mask, None if past is None else past[number])
            outputs = written + outputs if adds(number, self.residual_from) else written
            pasts.append(after)
        return outputs, tuple(pasts)


def note_no_residual(num_layers: int, residual_from: int | None) -> None:
    """Note that `residual_from` is above the highest layer."""
    if residual_from is not None and residual_from > num_layers:
        note("residual_from", f"{residual_from} changes nothing: the highest layer is number {num_layers}")


def adds(number: int, residual_from: int | None) -> bool:
    """Return whether layer `number`, counted from 0, has a residual connection."""
    return residual_from is not None and number + 1 >= residual_from
