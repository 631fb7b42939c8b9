"""What only gradients notice."""

from typing import Any, cast

import torch
from torch import Tensor


class _Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return inputs.view_as(inputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0] * ctx.factor, None


def scale_gradient(inputs: Tensor, factor: float) -> Tensor:
    """The inputs themselves; what flows back through them is multiplied by `factor`."""
    return cast(Any, _Scaled).apply(inputs, factor)  # untyped in torch
