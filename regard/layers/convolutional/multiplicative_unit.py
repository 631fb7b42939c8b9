"""Multiplicative units (https://arxiv.org/abs/1610.10099, section 3.6; https://arxiv.org/abs/1610.00527)."""

from typing import Any

import torch
from torch import Tensor

from regard.layers.convolutional.convolution import Convolution
from regard.layers.layer import Layer


class MultiplicativeUnit(Layer):
    """g1 · tanh(g2 · h + g3 · u); g1, g2, g3 = sigmoid(W * h + b), u = tanh(W * h + b): an LSTM's cell with no past.

    All four convolutions are one.
    """

    def __init__(self, dim: int, *, kernel: int = 3, dilation: int = 1, causal: bool = True) -> None:
        super().__init__()
        self.dim = dim
        self.convolution = Convolution(dim, 4 * dim, kernel=kernel, dilation=dilation, causal=causal)

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Any = None) -> tuple[Tensor, Any]:
        """h (batch, n, dim) → (batch, n, dim), the past of the convolution."""
        convolved, past = self.convolution(inputs, mask, past)
        gates, update = convolved.split([3 * self.dim, self.dim], dim=-1)
        first, second, third = gates.sigmoid().chunk(3, dim=-1)
        return first * torch.tanh(second * inputs + third * update.tanh()), past
