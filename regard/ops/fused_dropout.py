"""Dropout and the ReLU before it, or the residual sum behind it, as one compiled pass over memory each way.

Both sample as `dropout` does, so a model trains the same with them and without them, to rounding.
"""

import ctypes
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from regard.ops import kernels
from regard.ops.dropout import Dropout, random_bytes, threshold_of
from regard.ops.linear import are_halved
from regard.ops.plain import is_plain
from regard.runtime.compiled import library

DROPOUT_SOURCE = Path(kernels.__file__).with_name("dropout.cpp")

_LONG = ctypes.c_int64


def add_dropped(before: Tensor, change: Tensor, dropout: Dropout) -> Tensor:
    """before + dropout(change), of equal shapes: the residual connection of a Transformer."""
    alike = before.shape == change.shape and before.dtype == change.dtype
    if alike and _may_fuse(change, dropout):
        summed: Tensor = cast(Any, _AddDropped).apply(before, change, threshold_of(dropout.probability))
        return summed
    return before + dropout(change)


def relu_dropped(hidden: Tensor, dropout: Dropout) -> Tensor:
    """dropout(max(0, hidden)). It may overwrite `hidden`, so nothing else may read that."""
    if hidden.is_contiguous() and _may_fuse(hidden, dropout):
        kept: Tensor = cast(Any, _ReluDropped).apply(hidden, threshold_of(dropout.probability))
        return kept
    dropped: Tensor = dropout(functional.relu(hidden, inplace=not hidden.requires_grad))
    return dropped


def _may_fuse(inputs: Tensor, dropout: Dropout) -> bool:
    if is_plain() or not dropout.training or not inputs.requires_grad or torch.compiler.is_compiling():
        return False
    if dropout._forward_hooks or dropout._forward_pre_hooks:
        return False
    fast = 0 < threshold_of(dropout.probability) < 256 and inputs.device.type == "cpu" and inputs.dtype == torch.float32
    return fast and library(DROPOUT_SOURCE) is not None


class _AddDropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, before: Tensor, change: Tensor, threshold: int) -> Tensor:
        before, change = before.contiguous(), change.contiguous()
        noise, result = random_bytes(change), torch.empty_like(change)
        _run("add_dropped", change, noise, *_settings(threshold), before, change, result)
        ctx.save_for_backward(noise)
        ctx.threshold = threshold
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        (noise,), gradient = ctx.saved_tensors, gradients[0].contiguous()
        to_change = torch.empty_like(gradient)
        _run("drop_gradient", gradient, noise, *_settings(ctx.threshold), gradient, to_change)
        return gradient, to_change, None


class _ReluDropped(torch.autograd.Function):
    """Keeps the result, which is above 0 where a number passed, and which the product behind keeps anyway.

    A product in bfloat16 keeps another copy; then a byte per number is kept instead.
    """

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, threshold: int) -> Tensor:
        result = hidden.detach()  # the same memory: a product does not read its outputs again
        _run("relu_dropped", result, random_bytes(result), *_settings(threshold), result)
        ctx.save_for_backward((result > 0).view(torch.uint8) if are_halved() else result)
        ctx.threshold = threshold
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (passed,), gradient = ctx.saved_tensors, gradients[0].contiguous()
        to_hidden, scale = torch.empty_like(gradient), _settings(ctx.threshold)[1]
        if passed.dtype == torch.uint8:
            _run("drop_gradient", gradient, passed, _LONG(1), scale, gradient, to_hidden)
        else:
            _run("relu_gradient", gradient, scale, passed, gradient, to_hidden)
        return to_hidden, None


def _settings(threshold: int) -> tuple[Any, Any]:
    return _LONG(threshold), ctypes.c_double(256 / (256 - threshold))


def _run(name: str, sized: Tensor, *given: Any) -> None:
    """Call compiled code: the number of elements, tensors by their addresses, other values, and threads."""
    values = [ctypes.c_void_p(one.data_ptr()) if isinstance(one, Tensor) else one for one in given]
    getattr(library(DROPOUT_SOURCE), name)(_LONG(sized.numel()), *values, _LONG(torch.get_num_threads()))
