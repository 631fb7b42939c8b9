"""Stacks of Transformer blocks in compiled code: whole texts, or steps of many rows."""

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from regard.ops.kernels.packing import PackedProduct, Precision, ProductStruct
from regard.runtime.compiled import library

_SOURCE = Path(__file__).with_name("transformer.cpp")
MOST_HEADS = 128  # kWidest of transformer.cpp
ACTIVATIONS = ("relu", "gelu", "swish")  # Activation of transformer.h

_POINTER, _LONG = ctypes.c_void_p, ctypes.c_int64


class _Norm(ctypes.Structure):
    _fields_ = (("weight", _POINTER), ("bias", _POINTER))


class _Block(ctypes.Structure):
    _fields_ = (
        *((name, _Norm) for name in ("own_norm", "cross_norm", "forward_norm")),
        *((name, ProductStruct) for name in ("own", "own_out", "cross", "cross_out", "hidden", "forward_out")),
    )


class StackStruct(ctypes.Structure):
    _fields_ = (
        ("blocks", ctypes.POINTER(_Block)),
        *((name, _LONG) for name in ("layers", "dim", "pre", "own_heads", "cross_heads", "activation")),
        ("slope", ctypes.c_double),
        ("epsilon", ctypes.c_double),
        ("norm", _Norm),
    )


class PastStruct(ctypes.Structure):
    _fields_ = (
        ("slots", _POINTER),
        ("stride", _LONG),
        ("time", _LONG),
        *((name, _POINTER) for name in ("own", "rows_then", "texts", "starts", "source")),
        *((name, _LONG) for name in ("places", "longest")),
        ("aligned", _POINTER),
        ("aligned_layer", _LONG),
    )


MIRRORS = (ProductStruct, _Norm, _Block, StackStruct, PastStruct)


class StandardAttention(NamedTuple):
    """The layers of softmax(scale · q kᵀ) v of several heads."""

    num_heads: int
    scale: float
    query: nn.Linear
    key: nn.Linear
    value: nn.Linear
    out: nn.Linear

    @property
    def layers(self) -> tuple[nn.Linear, ...]:
        """All of them."""
        return self.query, self.key, self.value, self.out


class StandardRecurrence(NamedTuple):
    """The layers of an SSRU: c = f · c' + (1 - f) · W x, f = sigmoid(W' x + b); max(0, c), or its projection."""

    unit: nn.Module  # weight (2 · dim, dim) of W and W', bias (dim) of W'
    out: nn.Linear | None

    @property
    def num_heads(self) -> int:
        """0: what compiled code knows it by."""
        return 0

    @property
    def layers(self) -> tuple[nn.Module, ...]:
        """All of them."""
        return (self.unit,) if self.out is None else (self.unit, self.out)


class StandardFeedForward(NamedTuple):
    """The layers of f(x W1 + b1) W2 + b2, and f: a row of ACTIVATIONS."""

    hidden: nn.Linear
    out: nn.Linear
    activation: Literal["relu", "gelu", "swish"]
    slope: float = 1.0  # of swish


class StandardBlock(NamedTuple):
    """The layers of a Transformer block as in https://arxiv.org/abs/1706.03762."""

    own: StandardAttention | StandardRecurrence
    cross: StandardAttention | None
    feedforward: StandardFeedForward
    norms: tuple[nn.LayerNorm, nn.LayerNorm | None, nn.LayerNorm]  # of own, cross, feed-forward
    pre: bool

    @property
    def layers(self) -> list[nn.Module]:
        """All of them."""
        found = [*self.own.layers, *(self.cross.layers if self.cross else ()), *self.feedforward[:2]]
        return [*found, *(norm for norm in self.norms if norm is not None)]

    @property
    def shape(self) -> tuple[object, ...]:
        """Sizes of its layers and of their inputs; compiled code wants the same in all blocks of a stack."""
        heads = self.own.num_heads, self.cross.num_heads if self.cross else 0
        sizes: Any = (layer.weight.shape for layer in self.layers)
        return (self.pre, *heads, *self.feedforward[2:], *sizes, *(one.eps for one in self.norms if one is not None))


class SourceMemory(NamedTuple):
    """Keys and values of the source: of all places of all texts, for each layer."""

    memories: Tensor  # (layers, places, 2 · width)
    starts: Tensor  # (texts + 1)
    longest: int


class StepMemory:
    """State before the next step: the source, and what each layer keeps of the steps so far. It never changes."""

    def __init__(
        self, source: SourceMemory | None = None, own: tuple[Tensor, ...] = (), vectors: tuple[Tensor, ...] = ()
    ) -> None:
        self.source, self.own, self.vectors = source, own, vectors
        self.pointers = np.array([one.data_ptr() for one in own], np.int64)
        self.rows = np.array([one.shape[1] for one in own], np.int64)


class PackedStack:
    """Blocks of one shape and the norm behind the last of them, packed."""

    def __init__(
        self,
        kernel: ctypes.CDLL,
        blocks: Sequence[StandardBlock],
        norm: nn.LayerNorm | None,
        precision: Precision = "float32",
    ) -> None:
        self._kernel, self._precision = kernel, precision
        self._owned = list[object]()  # what the pointers in the structures below lead to
        self._blocks = (_Block * len(blocks))(*map(self._block, blocks))
        crosses = [block.cross for block in blocks if block.cross is not None]
        self._sources = [self._packed(None, one.key, one.value) for one in crosses]
        first, product = blocks[0], self._blocks[0].own
        heads = first.own.num_heads, crosses[0].num_heads if crosses else 0
        activation = ACTIVATIONS.index(first.feedforward.activation), first.feedforward.slope
        eps, self._kept = first.norms[0].eps, product.outputs // 3 * 2 if heads[0] else product.outputs // 2
        self.struct = StackStruct(
            self._blocks, len(blocks), product.inputs, first.pre, *heads, *activation, eps, self._norm(norm)
        )

    def encode(self, states: Tensor, starts: Tensor) -> Tensor:
        """states (places, dim) of texts one behind another → states.

        Text i is from starts[i] to starts[i + 1].
        """
        states = states.float().contiguous().clone()
        encode = self._function("encode", ctypes.POINTER(StackStruct), _LONG, _POINTER, _POINTER)
        encode(self.struct, len(starts) - 1, starts.data_ptr(), states.data_ptr())
        return states

    def source(self, states: Tensor, starts: Tensor, longest: int) -> SourceMemory:
        """states (places, dim) of an encoder → keys and values for each layer; `longest` is that of the texts."""
        states, width = states.float().contiguous(), self._blocks[0].cross.outputs
        memories = states.new_empty(len(self._sources), len(states), 2 * width)
        project = self._function("project", ctypes.POINTER(ProductStruct), _LONG, _POINTER, _POINTER)
        for product, memory in zip(self._sources, memories, strict=True):
            project(product.struct, len(states), states.data_ptr(), memory.data_ptr())
        return SourceMemory(memories, starts, longest)

    def steps(
        self, vectors: Tensor, memory: StepMemory, slots: Tensor, texts: Tensor
    ) -> tuple[Tensor, StepMemory, Tensor]:
        """vectors (rows, n, dim) of the words read → states (rows, n, dim), and the memory and the slots after them.

        slots (rows, time) int32: the row of each earlier step that holds what a row kept.
        texts (rows) int32: the source of each row.
        """
        states = vectors.float().contiguous().clone()
        (rows, count, _), time = states.shape, slots.shape[1]
        own = states.new_empty(count, len(self._blocks), rows, self._kept)
        after = StepMemory(memory.source, (*memory.own, *own), (*memory.vectors, *vectors.unbind(1)))
        slots = torch.cat([slots, torch.arange(rows, dtype=torch.int32).unsqueeze(1).expand(rows, count)], dim=1)
        past = self.past(after, slots, texts)
        past.time = time
        steps = self._function("steps", ctypes.POINTER(StackStruct), ctypes.POINTER(PastStruct), *[_LONG] * 2, _POINTER)
        steps(self.struct, past, rows, count, states.data_ptr())
        return states, after, slots

    def past(self, memory: StepMemory, slots: Tensor, texts: Tensor) -> PastStruct:
        """Return what compiled code reads of the steps in a memory; all of it must stay where it is meanwhile."""
        past = PastStruct(
            slots.data_ptr(), slots.stride(0), slots.shape[1], memory.pointers.ctypes.data, memory.rows.ctypes.data,
            texts.data_ptr(),
        )  # fmt: skip
        if (source := memory.source) is not None:
            past.starts, past.source = source.starts.data_ptr(), source.memories.data_ptr()
            past.places, past.longest = source.memories.shape[1], source.longest
        return past

    def _function(self, name: str, *arguments: Any) -> "ctypes._NamedFuncPointer":
        function = self._kernel[name]
        function.argtypes, function.restype = arguments, None
        return function

    def _block(self, block: StandardBlock) -> _Block:
        cross, nothing = block.cross, ProductStruct()
        return _Block(
            *map(self._norm, block.norms),
            *self._own(block.own),
            nothing if cross is None else self._packed(cross.scale, cross.query).struct,
            nothing if cross is None else self._packed(None, cross.out).struct,
            self._packed(None, block.feedforward.hidden).struct,
            self._packed(None, block.feedforward.out).struct,
        )

    def _own(self, own: StandardAttention | StandardRecurrence) -> tuple[ProductStruct, ProductStruct]:
        """The products before self-attention, or its replacement, and behind it."""
        if isinstance(own, StandardAttention):
            return self._packed(own.scale, own.query, own.key, own.value).struct, self._packed(None, own.out).struct
        unit: Any = own.unit
        weight, bias = unit.weight.detach(), unit.bias.detach()
        product = self._product(weight, torch.cat([torch.zeros_like(bias), bias]))
        return product.struct, ProductStruct() if own.out is None else self._packed(None, own.out).struct

    def _packed(self, scale: float | None, *layers: nn.Linear) -> PackedProduct:
        """Pack layers with the same inputs side by side; the first one times `scale`."""
        weights = [one.weight.detach() for one in layers]
        biases = [torch.zeros(len(one.weight)) if one.bias is None else one.bias.detach() for one in layers]
        if scale is not None:
            weights[0], biases[0] = weights[0] * scale, biases[0] * scale
        return self._product(torch.cat(weights), torch.cat(biases))

    def _product(self, weight: Tensor, bias: Tensor) -> PackedProduct:
        packed = PackedProduct(weight, bias, self._kernel.panel(), self._precision)
        self._owned.append(packed)
        return packed

    def _norm(self, norm: nn.LayerNorm | None) -> _Norm:
        if norm is None:
            return _Norm()
        copies = [one.detach().clone() for one in (norm.weight, norm.bias)]
        self._owned.extend(copies)
        return _Norm(*(one.data_ptr() for one in copies))


def compiled_transformer() -> ctypes.CDLL | None:
    """Return the compiled code, None where it cannot be compiled."""
    return library(_SOURCE, MIRRORS)
