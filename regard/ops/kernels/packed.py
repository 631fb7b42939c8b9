"""Weights as compiled products read them, made once and kept until a weight changes."""

import ctypes
import threading
from collections.abc import Callable, Iterable
from typing import Any, Generic, Literal, TypeVar

import torch
from torch import Tensor
from torch.nn import functional

from regard.ops.plain import is_plain

T = TypeVar("T")
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
    """A weight (outputs, inputs) and its bias, or none, in panels of so many outputs.

    In 8 bits a row of a weight is scale · (u - 128), u from 1 to 255; `panels` are (panels, inputs / 4, panel, 4).
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, panel: int, precision: Precision = "float32") -> None:
        outputs, inputs = weight.shape
        more = -outputs % panel
        rows, scales = functional.pad(weight.detach(), (0, 0, 0, more)), None
        if precision == "int8":
            scales = rows.abs().amax(dim=1).clamp(min=1e-30) / 127
            eight = (rows / scales.unsqueeze(1)).round_().add_(128).to(torch.uint8)
            fours = functional.pad(eight, (0, -inputs % 4)).view(len(rows) // panel, panel, -1, 4)
            self.panels = fours.transpose(1, 2).contiguous()
        else:
            self.panels = rows.view(-1, panel, inputs).transpose(1, 2).contiguous()
        self.scales = scales
        self.bias = functional.pad(weight.new_zeros(outputs) if bias is None else bias.detach(), (0, more)).clone()
        pointers = [None if one is None else one.data_ptr() for one in (self.panels, self.bias, scales)]
        self.struct = ProductStruct(*pointers, inputs, outputs)


class Kept(Generic[T]):
    """What is made of parameters, until one of them changes. Copies of a module share it, as they share weights.

    A change is known by torch's count of changes. Fused optimizers do not count, so a module in training forgets.
    """

    def __init__(self) -> None:
        self.precision: Precision = "float32"
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
        """Make it anew the next time."""
        with self._lock:
            self._key, self._made = (), None

    def __deepcopy__(self, memo: Any) -> "Kept[T]":
        return self


def may_compile(parameters: Iterable[Tensor]) -> bool:
    """Whether compiled code may stand in: float32 on a CPU, no gradient is wanted, and nobody asks for plain code."""
    if is_plain() or torch.is_grad_enabled() or torch.compiler.is_compiling() or torch.is_autocast_enabled("cpu"):
        return False
    return all(one.device.type == "cpu" and one.dtype == torch.float32 and not one.is_inference() for one in parameters)
