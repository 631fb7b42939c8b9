"""Products with weights, on a CPU by oneDNN where `machine` says that it is faster than the BLAS that torch calls."""

import os
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.compat import onednn_linear
from regard.ops.machine import kind_of, prefers_onednn
from regard.ops.plain import is_plain

# oneDNN and what calls it keep what they made for each of the last thousand shapes, half a megabyte and more; a batch
# needs a dozen. This is read at the first product: one that was made before keeps the default.
for _name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
    os.environ.setdefault(_name, "16")

_onednn = onednn_linear()


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        return _product(inputs, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        inputs, weight = ctx.saved_tensors
        gradient = gradients[0].contiguous()  # oneDNN reads an expanded one number by number
        wants_inputs, wants_weight, wants_bias = ctx.needs_input_grad
        rows = gradient.flatten(0, -2)
        return (
            linear(gradient, weight.t()) if wants_inputs else None,
            summed(rows, inputs.flatten(0, -2)) if wants_weight else None,
            rows.sum(dim=0) if wants_bias else None,
        )


def linear(inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """inputs (..., in_dim) → inputs Wᵀ + b (..., out_dim), W (out_dim, in_dim): torch's `linear`, to rounding."""
    if not _fits(inputs, weight):
        return functional.linear(inputs, weight, bias)
    if torch.is_grad_enabled() and (inputs.requires_grad or weight.requires_grad):
        return cast(Any, _Product).apply(inputs, weight, bias)  # untyped in torch
    return _product(inputs, weight, bias)


def summed(first: Tensor, second: Tensor) -> Tensor:
    """(rows, a), (rows, b) → first^T second (a, b), a sum over the rows: the gradient of a weight.

    oneDNN is quicker where the wider side stands where weights do.
    """
    a, b = first.shape[-1], second.shape[-1]
    alike = max(a, b) < 2 * min(a, b)
    if alike and not prefers_onednn("gradient"):
        return first.t() @ second
    return linear(first.t(), second.t()) if b > a else linear(second.t(), first.t()).t()


class Linear(nn.Linear):
    """`linear` as a module."""

    def forward(self, input: Tensor) -> Tensor:
        """(..., in_dim) → (..., out_dim)."""
        return linear(input, self.weight, self.bias)


def _fits(inputs: Tensor, weight: Tensor) -> bool:
    if _onednn is None or is_plain() or inputs.device.type != "cpu" or torch.compiler.is_compiling():
        return False
    if inputs.dim() < 2 or not inputs.dtype == weight.dtype == torch.float32 or torch.is_autocast_enabled("cpu"):
        return False
    out_dim, in_dim = weight.shape
    return prefers_onednn(kind_of(inputs.numel() // max(1, in_dim), in_dim, out_dim))


def _product(inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return cast(Any, _onednn)(inputs, weight, bias)
