"""Weights packed as compiled products read them, in float32 or 8 bits, once and until a weight changes."""

import ctypes
import threading
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.compat import functorch_is_active
from regard.ops.plain import is_plain
from regard.ops.quantization import row_scales
from regard.runtime.compiled import library

_T = TypeVar("_T")
Precision = Literal["float32", "int8"]


class ProductStruct(ctypes.Structure):
    """`Product` of products.h."""

    _fields_ = (
        ("panels", ctypes.c_void_p),
        ("bias", ctypes.c_void_p),
        ("scales", ctypes.c_void_p),
        ("inputs", ctypes.c_int64),
        ("outputs", ctypes.c_int64),
    )


class PackedProduct:
    """A weight (outputs, inputs) and its bias, or none, in panels of `width` outputs.

    In 8 bits a row of a weight is scale · (u - 128), u from 1 to 255; `panels` are (panels, inputs / 4, panel, 4).
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, panel: int, precision: Precision = "float32") -> None:
        outputs, inputs = weight.shape
        more = -outputs % panel
        rows, scales = functional.pad(weight.detach(), (0, 0, 0, more)), None
        if precision == "int8":
            scales = row_scales(rows)
            eight = (rows / scales.unsqueeze(1)).round_().add_(128).to(torch.uint8)
            fours = functional.pad(eight, (0, -inputs % 4)).view(len(rows) // panel, panel, -1, 4)
            self.panels = fours.transpose(1, 2).contiguous()
        else:
            self.panels = rows.view(-1, panel, inputs).transpose(1, 2).contiguous()
        self.scales = scales
        self.bias = functional.pad(weight.new_zeros(outputs) if bias is None else bias.detach(), (0, more)).clone()
        pointers = [None if one is None else one.data_ptr() for one in (self.panels, self.bias, scales)]
        self.struct = ProductStruct(*pointers, inputs, outputs)


class ParameterCache(Generic[_T]):
    """Keeps what was made of parameters until one of them changes. Threads may share it.

    A change is a new place in memory, or a step of torch's count of changes. Writing through `parameter.data` changes
    neither, and fused optimizers do not count: call `forget` behind them. A module in training forgets by itself.
    """

    def __init__(self, precision: Precision = "float32") -> None:
        self.precision = precision
        self._lock = threading.Lock()
        self._key: tuple[tuple[int, int], ...] | None = None
        self._made_of: list[Tensor] = []  # held, so that no other tensor can take their place in memory
        self._made: _T | None = None

    def get(self, parameters: Sequence[Tensor], make: Callable[[], _T]) -> _T:
        """Return what `make` made of these parameters as they are now."""
        key = tuple((one.data_ptr(), one._version) for one in parameters)
        with self._lock:
            if key != self._key:
                self._key, self._made_of, self._made = key, [one.detach() for one in parameters], make()
            return cast(_T, self._made)

    def forget(self) -> None:
        """Drop it; the next use makes it again."""
        with self._lock:
            self._key, self._made_of, self._made = None, [], None

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, by `copy.deepcopy` or by pickle, is empty: its module has other parameters."""
        return type(self), (self.precision,)


def caches_of(model: nn.Module) -> list[ParameterCache[Any]]:
    """Return the caches of all modules in a model."""
    return [one for module in model.modules() for one in vars(module).values() if isinstance(one, ParameterCache)]


def set_precision(model: nn.Module, precision: Precision) -> None:
    """Let a model multiply with its weights in this precision from now on.

    What is not compiled stays float32. So does everything, with a warning, where there are no 8-bit products.
    In 8 bits each row of a weight has a scale of its own, and so has each row that it is multiplied with.
    """
    problem = None if precision == "float32" else _problem(model)
    if problem is not None:
        warnings.warn(f"decoding.precision: {problem}, so weights stay float32", stacklevel=3)
        precision = "float32"
    for cache in caches_of(model):
        cache.forget()
        cache.precision = precision


def _problem(model: nn.Module) -> str | None:
    """Say why there are no 8-bit products for a model; None where there are."""
    if devices := {one.device.type for one in model.parameters()} - {"cpu"}:
        return f"8-bit products are for a CPU, not for {min(devices)}"
    kernel = library(Path(__file__).with_name("vocabulary.cpp"), (ProductStruct,))
    if kernel is None:
        return "there is no compiled code (regard doctor says more)"
    return None if kernel.multiplies_eight() else "this processor has no 8-bit products (VNNI)"


def may_compile(parameters: Sequence[Tensor]) -> bool:
    """Return whether compiled code may stand in: float32 on a CPU, no gradient, and no plain code asked for."""
    if is_plain() or torch.is_grad_enabled() or torch.is_autocast_enabled("cpu"):
        return False
    if torch.compiler.is_compiling() or functorch_is_active():
        return False
    return are_readable(parameters)


def are_readable(parameters: Sequence[Tensor]) -> bool:
    """Return whether compiled code can read them all: float32 in memory, no subclass with a layout of its own."""
    ordinary = all(type(one) in (nn.Parameter, Tensor) and not one.is_inference() for one in parameters)
    return ordinary and all(one.device.type == "cpu" and one.dtype == torch.float32 for one in parameters)
