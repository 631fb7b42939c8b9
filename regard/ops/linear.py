"""Products with weights, on a CPU by oneDNN where `machine` says that it is faster than the BLAS that torch calls."""

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
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


class _HalfProduct(torch.autograd.Function):
    """Factors are rounded to bfloat16, forward and backward, and kept so; sums and all that is returned are float32."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        inputs, weight = _halved(inputs), weight.bfloat16()
        ctx.save_for_backward(inputs, weight)
        outputs = functional.linear(inputs, weight).float()
        return outputs if bias is None else outputs.add_(bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        (inputs, weight), gradient = ctx.saved_tensors, gradients[0].flatten(0, -2)
        wants_inputs, wants_weight, wants_bias = ctx.needs_input_grad
        half = gradient.bfloat16()
        return (
            (half @ weight).float().view(inputs.shape) if wants_inputs else None,
            (half.t() @ inputs.flatten(0, -2)).float() if wants_weight else None,
            gradient.sum(dim=0) if wants_bias else None,
        )


def _halved(inputs: Tensor) -> Tensor:
    """Return the inputs in bfloat16; products with the same inputs in a row, as of queries and keys, share them."""
    last, version, half = getattr(_local, "halved", (None, 0, inputs))
    if last is None or last() is not inputs or version != inputs._version:
        half = inputs.bfloat16()
        _local.halved = weakref.ref(inputs), inputs._version, half
    return half


@contextmanager
def half_products() -> Iterator[None]:
    """Round the factors of products to bfloat16 in this thread, where gradients are wanted, on a CPU.

    All else stays float32, the loss, too. Autocast would round sums, norms and attention, and keep compiled code out.
    """
    before = are_halved()
    _local.half = True
    try:
        yield
    finally:
        _local.half = before
        _local.halved = None, 0, None


_local = threading.local()


def are_halved() -> bool:
    """Return whether this thread is inside `half_products`."""
    return getattr(_local, "half", False)


def linear(inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """inputs (..., in_dim) → inputs Wᵀ + b (..., out_dim), W (out_dim, in_dim): torch's `linear`, to rounding."""
    learns = torch.is_grad_enabled() and (inputs.requires_grad or weight.requires_grad)
    if learns and are_halved() and _may_be_fast(inputs, weight):
        return cast(Any, _HalfProduct).apply(inputs, weight, bias)  # untyped in torch
    if not _fits(inputs, weight):
        return functional.linear(inputs, weight, bias)
    if learns:
        return cast(Any, _Product).apply(inputs, weight, bias)
    return _product(inputs, weight, bias)


def summed(first: Tensor, second: Tensor) -> Tensor:
    """(rows, a), (rows, b) → first^T second (a, b), a sum over the rows: the gradient of a weight.

    oneDNN is quicker where the wider side stands where weights do, and the other one is transposed before.
    """
    a, b = first.shape[-1], second.shape[-1]
    alike = max(a, b) < 2 * min(a, b)
    if alike and not prefers_onednn("gradient"):
        return first.t() @ second
    narrow, wide = (first.t(), second.t()) if b > a else (second.t(), first.t())
    product = linear(narrow.contiguous() if _fits(narrow, wide) else narrow, wide)
    return product if b > a else product.t()


class Linear(nn.Linear):
    """`linear` as a module."""

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias)


def _may_be_fast(inputs: Tensor, weight: Tensor) -> bool:
    if is_plain() or inputs.device.type != "cpu" or torch.compiler.is_compiling():
        return False
    single = inputs.dtype == weight.dtype == torch.float32 and inputs.dim() > 1
    return single and not torch.is_autocast_enabled("cpu")


def _fits(inputs: Tensor, weight: Tensor) -> bool:
    if _onednn is None or not _may_be_fast(inputs, weight):
        return False
    out_dim, in_dim = weight.shape
    return prefers_onednn(kind_of(inputs.numel() // max(1, in_dim), in_dim, out_dim))


def _product(inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return cast(Any, _onednn)(inputs, weight, bias)
