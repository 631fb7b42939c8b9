"""A gated convolution with a residual connection: https://arxiv.org/abs/1705.03122, section 3.2."""

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.config import Doc
from regard.errors import PartError
from regard.layers.convolutional.convolution import Convolution, WeightNormalised
from regard.layers.layer import Layer
from regard.ops.dropout import Dropout

Gate = Annotated[Literal["glu", "gtu", "relu", "tanh"], Doc("Activation that gates a convolution.")]


def glu(pair: Tensor) -> Tensor:
    """A · sigmoid(B), pair = [A; B] (..., 2 · dim) → (..., dim): a gradient through A is not scaled down by a slope."""
    value, gate = halves(pair)
    return value * gate.sigmoid()


def gtu(pair: Tensor) -> Tensor:
    """tanh(A) · sigmoid(B) (https://arxiv.org/abs/1606.05328, equation 1)."""
    value, gate = halves(pair)
    return value.tanh() * gate.sigmoid()


def halves(pair: Tensor) -> tuple[Tensor, Tensor]:
    """(..., 2 · dim) → twice (..., dim). Raises PartError for an odd number of channels."""
    if pair.shape[-1] % 2:
        raise PartError(f"{pair.shape[-1]} channels do not split into values and gates", "make them even")
    value, gate = pair.chunk(2, dim=-1)
    return value, gate


GATES: Mapping[Gate, Callable[[Tensor], Tensor]] = {
    "glu": glu,
    "gtu": gtu,
    "relu": functional.relu,
    "tanh": torch.tanh,
}
WIDTHS: Mapping[Gate, int] = {"glu": 2, "gtu": 2, "relu": 1, "tanh": 1}  # input channels per output channel


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
