"""The whole recurrence, forward and backward, as one compiled pass each: gates and states never leave the cache."""

import ctypes
from pathlib import Path
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.runtime.compiled import library


class Parts(NamedTuple):
    """c_t = f · c_(t-1) + (1 - f) · u, h_t = r · g(c_t) + (1 - r) · scale · x; f and r may see c_(t-1), too."""

    products: Tensor  # (batch, n, 3 or 4, dim): u, W_f x, W_r x and, where the input has another width, W_s x
    inputs: Tensor  # (batch, n, dim): x; of any width, and unused, with 4 products
    peepholes: Tensor | None  # (2, dim): v_f and v_r; None: the gates do not see the state
    biases: Tensor  # (2, dim): b_f and b_r
    start: Tensor  # (batch, dim): c_0
    mask: Tensor | None  # (batch, n); a hidden step keeps c, and its h is 0
    scale: float
    tanh: bool  # g; else it is the identity

    def skipped(self) -> Tensor:
        """(batch, n, dim): x, or W_s x."""
        return self.inputs if self.products.shape[2] == 3 else self.products[:, :, 3]


class Ended(NamedTuple):
    """Results of the recurrence."""

    outputs: Tensor  # (batch, n, dim): h
    state: Tensor  # (batch, dim): the last c


SRU_SOURCE = Path(__file__).with_name("sru.cpp")
TYPES = {torch.float32: "float32", torch.float64: "float64"}

_POINTER, _LONG, _INT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int
_GIVEN = [_POINTER, _POINTER, _LONG, _POINTER, _POINTER, _POINTER, ctypes.c_double]  # products … mask, scale
_SIZES = [_LONG] * 4 + [_INT] * 2


def may_fuse(parts: Parts) -> bool:
    """Return whether the compiled pass supports these tensors."""
    tensors = [parts.products, parts.inputs, parts.biases, parts.start]
    same = all(one.device.type == "cpu" and one.dtype == parts.products.dtype for one in tensors)
    return same and parts.products.dtype in TYPES and library(SRU_SOURCE) is not None


def fused(parts: Parts) -> Ended:
    """Compute `loop` for float32 and float64 on a CPU; parallel over rows and features."""
    peepholes = torch.zeros_like(parts.biases) if parts.peepholes is None else parts.peepholes
    skips = parts.inputs if parts.products.shape[2] == 3 else None
    parameters = torch.cat([peepholes, parts.biases])
    mask = None if parts.mask is None else parts.mask.contiguous()
    return Ended(
        *cast(Any, _Fused).apply(parts.products, skips, parameters, parts.start, mask, (parts.scale, parts.tanh))
    )


class _Fused(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        products: Tensor,
        skips: Tensor | None,
        parameters: Tensor,
        start: Tensor,
        mask: Tensor | None,
        settings: tuple[float, bool],
    ) -> tuple[Tensor, Tensor]:
        scale, tanh = ctx.settings = settings
        products, start = products.contiguous(), start.contiguous()
        skips = None if skips is None else skips.contiguous()
        batch, steps, count, dim = products.shape
        states, outputs = (products.new_empty(batch, steps, dim) for _ in range(2))
        given = _given(products, skips, parameters, start, mask, scale)
        sizes = (batch, steps, dim, count, tanh, torch.get_num_threads())
        _function("forward", products.dtype)(*given, states.data_ptr(), outputs.data_ptr(), *sizes)
        ctx.save_for_backward(products, skips, parameters, start, mask, states)
        return outputs, (states[:, -1] if steps else start).clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        products, skips, parameters, start, mask, states = ctx.saved_tensors
        scale, tanh = ctx.settings
        outputs, end = (gradient.contiguous() for gradient in gradients)
        batch, steps, count, dim = products.shape
        to_products, to_start = torch.empty_like(products), torch.empty_like(start)
        to_skips = None if skips is None else torch.empty_like(skips)
        to_parameters = parameters.new_empty(batch, *parameters.shape)
        given = _given(products, skips, parameters, start, mask, scale)
        written = (
            to_products.data_ptr(),
            _skips(to_products, to_skips)[0],
            to_parameters.data_ptr(),
            to_start.data_ptr(),
        )
        sizes = (batch, steps, dim, count, tanh, torch.get_num_threads())
        seen = states.data_ptr(), outputs.data_ptr(), end.data_ptr()
        _function("backward", products.dtype)(*given, *seen, *written, *sizes)
        return to_products, to_skips, to_parameters.sum(dim=0), to_start, None, None


def _given(
    products: Tensor, skips: Tensor | None, parameters: Tensor, start: Tensor, mask: Tensor | None, scale: float
) -> tuple[Any, ...]:
    shown = None if mask is None else mask.data_ptr()
    return products.data_ptr(), *_skips(products, skips), parameters.data_ptr(), start.data_ptr(), shown, scale


def _skips(products: Tensor, skips: Tensor | None) -> tuple[int, int]:
    """Return the address of x, or of the fourth product, and the stride of its steps."""
    count, dim = products.shape[2:]
    if skips is not None:
        return skips.data_ptr(), dim
    return products.data_ptr() + 3 * dim * products.element_size(), count * dim


def _function(way: str, dtype: torch.dtype) -> Any:
    functions = library(SRU_SOURCE)
    function = getattr(functions, f"{way}_{TYPES[dtype]}")
    function.argtypes = _GIVEN + [_POINTER] * (2 if way == "forward" else 7) + _SIZES
    function.restype = None
    return function
