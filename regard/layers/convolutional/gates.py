"""Gated linear units (https://arxiv.org/abs/1612.08083, equation 1), and the alternatives compared there."""

from collections.abc import Callable, Mapping
from typing import Annotated, Literal

import torch
from torch import Tensor
from torch.nn import functional

from regard.config import Doc
from regard.errors import PartError

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
