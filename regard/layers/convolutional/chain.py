"""Layers on top of each other."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from regard.layers.layer import Layer
from regard.ops.modules import module_list


class Chain(Layer):
    """Each layer reads the outputs of the one below, under the same mask."""

    def __init__(self, input_dim: int, layers: Sequence[Layer]) -> None:
        """`input_dim` is also the width of its outputs if there are no layers."""
        super().__init__()
        self.layers = module_list(layers)
        self.dim = layers[-1].dim if layers else input_dim

    def forward(
        self, inputs: Tensor, mask: Tensor | None, past: tuple[Any, ...] | None = None
    ) -> tuple[Tensor, tuple[Any, ...]]:
        """inputs (batch, n, input_dim) → outputs (batch, n, dim) and a past per layer."""
        pasts, outputs = [], inputs
        for number, layer in enumerate(self.layers):
            outputs, after = layer(outputs, mask, None if past is None else past[number])
            pasts.append(after)
        return outputs, tuple(pasts)
