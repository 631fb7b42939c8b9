"""Weights as compiled products read them, made once and kept until a weight changes."""

import ctypes
import threading
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor
from torch.nn import functional

from regard.ops.plain import is_plain

T = TypeVar("T")


class ProductStruct(ctypes.Structure):
    """`Product` of products.h."""

    _fields_ = (
        ("panels", ctypes.c_void_p),
        ("bias", ctypes.c_void_p),
        ("inputs", ctypes.c_int64),
        ("outputs", ctypes.c_int64),
    )


class PackedProduct:
    """A weight (outputs, inputs) and its bias, or none, in panels of so many outputs."""

    def __init__(self, weight: Tensor, bias: Tensor | None, panel: int) -> None:
        outputs, inputs = weight.shape
        more = -outputs % panel
        rows = functional.pad(weight.detach(), (0, 0, 0, more)).view(-1, panel, inputs)
        self.panels = rows.transpose(1, 2).contiguous()
        self.bias = functional.pad(weight.new_zeros(outputs) if bias is None else bias.detach(), (0, more)).clone()
        self.struct = ProductStruct(self.panels.data_ptr(), self.bias.data_ptr(), inputs, outputs)


class Kept(Generic[T]):
    """What is made of parameters, until one of them changes. Copies of a module share it, as they share weights."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._key: tuple[tuple[int, int], ...] = ()
        self._made: T | None = None

    def get(self, parameters: Iterable[Tensor], make: Callable[[], T]) -> T:
        """What `make` made of these parameters as they are now."""
        key = tuple((one.data_ptr(), one._version) for one in parameters)
        with self._lock:
            if self._made is None or key != self._key:
                self._key, self._made = key, make()
            return self._made

    def forget(self) -> None:
        """Free the memory: the weights are about to change."""
        with self._lock:
            self._key, self._made = (), None

    def __deepcopy__(self, memo: Any) -> "Kept[T]":
        return self


def may_compile(parameters: Iterable[Tensor]) -> bool:
    """Whether compiled code may stand in: float32 on a CPU, no gradient is wanted, and nobody asks for plain code."""
    if is_plain() or torch.is_grad_enabled() or torch.compiler.is_compiling() or torch.is_autocast_enabled("cpu"):
        return False
    return all(one.device.type == "cpu" and one.dtype == torch.float32 and not one.is_inference() for one in parameters)
