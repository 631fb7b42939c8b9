"""A gated convolution with a residual connection: https://arxiv.org/abs/1705.03122, section 3.2."""

import math
from typing import Any

from torch import Tensor, nn

from regard.layers.convolutional.convolution import Convolution
from regard.layers.convolutional.gates import GATES, WIDTHS, Gate
from regard.layers.convolutional.weight_normalised import WeightNormalised
from regard.layers.layer import Layer
from regard.ops.dropout import Dropout

HALF = math.sqrt(0.5)  # keeps the variance of a sum of two


class GatedBlock(Layer):
    """(x + gate(W * drop(x) + b)) · sqrt(1/2), * being a convolution; a projected x where the width changes.

    With `causal`, a stack of these is the language model of https://arxiv.org/abs/1612.08083. Weights are normalised
    and sampled from N(0, 4p/n) before a gated unit, N(0, p/n) elsewhere, p the keep probability of dropout, n the
    number of inputs, so that the variance is kept (arXiv:1705.03122, section 3.5).
    """

    def __init__(
        self,
        input_dim: int,
        dim: int,
        *,
        kernel: int = 3,
        dilation: int = 1,
        causal: bool = True,
        gate: Gate = "glu",
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.dim, self.gate = dim, GATES[gate]
        std = _start_std(kernel * input_dim, gated=WIDTHS[gate] == 2, keep=1 - dropout)
        self.convolution = Convolution(
            input_dim, dim * WIDTHS[gate], kernel=kernel, dilation=dilation, causal=causal, std=std
        )
        self.dropout = Dropout(dropout)
        self.around = nn.Identity() if input_dim == dim else projection(input_dim, dim)

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Any = None) -> tuple[Tensor, Any]:
        """inputs (batch, n, input_dim) → outputs (batch, n, dim), the past of the convolution."""
        convolved, past = self.convolution(self.dropout(inputs), mask, past)
        return (self.around(inputs) + self.gate(convolved)) * HALF, past


def projection(in_dim: int, out_dim: int, *, keep: float = 1.0) -> WeightNormalised:
    """Return a linear map that keeps the variance of inputs after dropout with the keep probability `keep`."""
    return WeightNormalised(in_dim, out_dim, std=_start_std(in_dim, gated=False, keep=keep))


def _start_std(in_dim: int, *, gated: bool, keep: float) -> float:
    """sqrt(4 · keep / n) before a gated unit, sqrt(keep / n) elsewhere."""
    return math.sqrt((4 if gated else 1) * keep / in_dim)
