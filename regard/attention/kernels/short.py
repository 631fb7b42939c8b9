"""Attention of short sentences as one compiled pass each way: no transposed copy, no score leaves the cache."""

import ctypes
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.attention.parts import Memory, Score, View, Weighting
from regard.compat import functorch_is_active
from regard.ops import kernels
from regard.ops.plain import is_plain
from regard.runtime.compiled import library

SHORT_KEYS, _QUERIES, DIM = 64, 256, 256  # at most: what stays in a core's cache
ATTENTION_SOURCE = Path(kernels.__file__).with_name("short_attention.cpp")

_POINTER, _LONG = ctypes.c_void_p, ctypes.c_int64


class _Rows(ctypes.Structure):
    _fields_ = (("data", _POINTER), ("batch", _LONG), ("head", _LONG), ("row", _LONG))


class _Mask(ctypes.Structure):
    _fields_ = (("data", _POINTER), *((axis, _LONG) for axis in ("batch", "head", "query", "key")))


class _Sizes(ctypes.Structure):
    _fields_ = (
        *((name, _LONG) for name in ("batch", "heads", "queries", "keys", "dim", "value_dim", "threads")),
        ("scale", ctypes.c_float),
    )


_MIRRORS = (_Rows, _Mask, _Sizes)


def may_be_short(
    score: Score, weighting: Weighting, queries: Tensor, memory: Memory, view: View, dropout: float
) -> bool:
    """Return whether compiled code does exactly this: softmax(scale · q kᵀ) v of a few float32 keys, in training."""
    if is_plain() or not torch.is_grad_enabled() or torch.compiler.is_compiling() or functorch_is_active():
        return False
    if score.dot_scale is None or not weighting.softmax or dropout or queries.dim() != 4:
        return False
    if any(part is not None for part in (view.bias, view.gain, view.values)):
        return False
    given = (queries, memory.keys, memory.values)
    alike = all(one.device.type == "cpu" and one.dtype == torch.float32 and one.dim() == 4 for one in given)
    return alike and all(one.shape[:2] == queries.shape[:2] for one in given) and _fits(queries, memory)


def _fits(queries: Tensor, memory: Memory) -> bool:
    few = 0 < queries.shape[-2] <= _QUERIES and 0 < memory.keys.shape[-2] <= SHORT_KEYS
    dims = queries.shape[-1], memory.values.shape[-1]
    if not few or max(dims) > DIM or (code := library(ATTENTION_SOURCE, _MIRRORS)) is None:
        return False
    return all(dim % code.lanes() == 0 for dim in dims)


def by_short(queries: Tensor, memory: Memory, mask: Tensor | None, scale: float) -> Tensor:
    """queries (batch, head, query, dim), mask as wide as the scores or broadcast → contexts (batch, head, query, …)."""
    context: Tensor = cast(Any, _ShortAttention).apply(queries, memory.keys, memory.values, mask, scale)
    return context


class _ShortAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, scale: float) -> Tensor:
        queries, keys, values = map(_dense, (queries, keys, values))
        sizes = _Sizes(
            *queries.shape[:3], keys.shape[2], keys.shape[3], values.shape[3], torch.get_num_threads(), scale
        )
        code, contexts = library(ATTENTION_SOURCE, _MIRRORS), _like(queries, values.shape[3])
        lanes = cast(Any, code).lanes()
        weights = queries.new_empty(*queries.shape[:3], -(-keys.shape[2] // lanes) * lanes)
        shown = None if mask is None else mask.expand(*queries.shape[:3], keys.shape[2])
        given = _Mask() if shown is None else _Mask(shown.data_ptr(), *shown.stride())
        rows = [ctypes.byref(_rows(one)) for one in (queries, keys, values)]
        cast(Any, code).attend(
            ctypes.byref(sizes), *rows, ctypes.byref(given), ctypes.byref(_rows(contexts)), _POINTER(weights.data_ptr())
        )
        ctx.save_for_backward(queries, keys, values, weights)
        ctx.sizes = sizes
        return contexts

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        queries, keys, values, weights = ctx.saved_tensors
        written = [_like(one, one.shape[3]) for one in (queries, keys, values)]
        gradient = _dense(gradients[0])
        rows = [ctypes.byref(_rows(one)) for one in (queries, keys, values, gradient, *written)]
        cast(Any, library(ATTENTION_SOURCE, _MIRRORS)).attend_back(
            ctypes.byref(ctx.sizes), *rows[:3], _POINTER(weights.data_ptr()), *rows[3:]
        )
        return *written, None, None


def _like(rows: Tensor, dim: int) -> Tensor:
    """Return memory of the same axes, laid out as a projection's: (batch, row, head, dim)."""
    batch, heads, count, _ = rows.shape
    return rows.new_empty(batch, count, heads, dim).transpose(1, 2)


def _dense(rows: Tensor) -> Tensor:
    """Return the rows themselves where their features lie side by side, else a copy."""
    return rows if rows.stride(-1) == 1 else rows.contiguous()


def _rows(rows: Tensor) -> _Rows:
    return _Rows(rows.data_ptr(), *rows.stride()[:3])
