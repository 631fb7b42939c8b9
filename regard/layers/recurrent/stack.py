"""Recurrent layers on top of each other."""

from collections.abc import Sequence

from torch import Tensor

from regard.dropout import Dropout
from regard.layers.layer import Layer
from regard.layers.recurrent.recurrent import Past, Recurrent
from regard.modules import module_list


class Stack(Layer):
    """Each layer reads the outputs of the one below, with dropout between them (https://arxiv.org/abs/1409.2329)."""

    def __init__(self, layers: Sequence[Recurrent], *, dropout: float = 0.0) -> None:
        super().__init__()
        self.layers, self.dropout, self.dim = module_list(layers), Dropout(dropout), layers[-1].dim

    def forward(
        self, inputs: Tensor, mask: Tensor | None, past: tuple[Past, ...] | None = None
    ) -> tuple[Tensor, tuple[Past, ...]]:
        """inputs (batch, n, input_dim) → outputs (batch, n, dim) and a past per layer."""
        pasts = []
        outputs = inputs
        for number, layer in enumerate(self.layers):
            below = self.dropout(outputs) if number else outputs
            outputs, after = layer(below, mask, None if past is None else past[number])
            pasts.append(after)
        return outputs, tuple(pasts)
