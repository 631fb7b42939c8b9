"""Negative sampling loss (https://arxiv.org/abs/1310.4546, section 2.2)."""

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from regard.ops.plain import is_plain
from regard.runtime.compiled import library

_SOURCE = Path(__file__).with_name("noise_contrast.cpp")
_POINTER, _LONG, _INT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int
_GIVEN: list[Any] = [*[_LONG] * 4, *[_POINTER] * 4, _INT, _LONG]  # sizes, tables and places, mean, threads


def may_fuse_contrast(inputs: Tensor, outputs: Tensor, contexts: Tensor, targets: Tensor) -> bool:
    """Return whether the compiled pass supports these tensors."""
    if any(one.device.type != "cpu" or one.dtype != torch.float32 for one in (inputs, outputs)):
        return False
    kernel = library(_SOURCE)
    return kernel is not None and max(contexts.shape[1], targets.shape[1]) <= kernel.largest()


def fused_contrast(inputs: Tensor, outputs: Tensor, contexts: Tensor, targets: Tensor, *, mean: bool) -> Tensor:
    """Compute `plain_contrast` for float32 on a CPU; parallel over places."""
    places = (contexts.int().contiguous(), targets.int().contiguous())
    losses: Tensor = cast(Any, _Fused).apply(inputs, outputs, *places, mean)
    return losses


class _Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, outputs: Tensor, contexts: Tensor, targets: Tensor, mean: bool) -> Tensor:
        inputs, outputs = inputs.contiguous(), outputs.contiguous()
        places, width = contexts.shape
        losses = inputs.new_empty(places)
        slopes = inputs.new_empty(places, 1 if mean else width, targets.shape[1])
        function = _function("forward", [_POINTER] * 2)
        function(*_given(inputs, outputs, contexts, targets, mean), losses.data_ptr(), slopes.data_ptr())
        ctx.save_for_backward(inputs, outputs, contexts, targets, slopes)
        ctx.mean = mean
        return losses

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        inputs, outputs, contexts, targets, slopes = ctx.saved_tensors
        threads, weights = torch.get_num_threads(), gradients[0].contiguous()
        to_inputs, to_outputs = (inputs.new_zeros(threads, *table.shape) for table in (inputs, outputs))
        function = _function("backward", [*[_POINTER] * 2, *[_LONG] * 2, *[_POINTER] * 2])
        given = _given(inputs, outputs, contexts, targets, ctx.mean)
        sizes, written = (len(inputs), len(outputs)), (to_inputs.data_ptr(), to_outputs.data_ptr())
        function(*given, slopes.data_ptr(), weights.data_ptr(), *sizes, *written)
        return _summed(to_inputs), _summed(to_outputs), None, None, None


def _summed(parts: Tensor) -> Tensor:
    """Return the sum over threads."""
    for part in parts[1:]:
        parts[0].add_(part)
    return parts[0]


def _given(inputs: Tensor, outputs: Tensor, contexts: Tensor, targets: Tensor, mean: bool) -> tuple[Any, ...]:
    sizes = (*contexts.shape, targets.shape[1], inputs.shape[1])
    tensors = (one.data_ptr() for one in (inputs, outputs, contexts, targets))
    return (*sizes, *tensors, mean, torch.get_num_threads())


def _function(name: str, more: Sequence[Any]) -> Any:
    function = cast(ctypes.CDLL, library(_SOURCE))[name]
    function.argtypes, function.restype = [*_GIVEN, *more], None
    return function


def plain_contrast(inputs: Tensor, outputs: Tensor, contexts: Tensor, targets: Tensor, *, mean: bool) -> Tensor:
    """Tables (rows, dim), contexts (place, width) with -1 for none, targets (place, choice) → losses (place,)."""
    there = (contexts >= 0).unsqueeze(-1)
    read = inputs[contexts.clamp(min=0)] * there  # (place, width, dim)
    if mean:
        read = read.sum(dim=1, keepdim=True) / there.sum(dim=1, keepdim=True).clamp(min=1)
        there = there.any(dim=1, keepdim=True)
    scores = read @ outputs[targets].transpose(1, 2)  # (place, width or 1, choice)
    wrong = torch.cat([-scores[..., :1], scores[..., 1:]], dim=-1)
    return (functional.softplus(wrong) * there).sum(dim=(1, 2))


def noise_contrast(inputs: Tensor, outputs: Tensor, contexts: Tensor, targets: Tensor, *, mean: bool) -> Tensor:
    """Return -log σ(v · u_right) - sum of log σ(-v · u) over negatives, in nats (place,); 0 without inputs.

    v are the rows of `inputs` (rows, dim) that `contexts` (place, width) names, -1 for none: the loss is summed over
    them, or with `mean` it is that of their mean. u are the rows of `outputs` (rows, dim) that `targets`
    (place, choice) names, the right one first.
    """
    compute = (
        fused_contrast if not is_plain() and may_fuse_contrast(inputs, outputs, contexts, targets) else plain_contrast
    )
    return compute(inputs, outputs, contexts, targets, mean=mean)
