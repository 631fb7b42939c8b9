"""Stacks of Transformer blocks in compiled code, where all their parts are supported and none has a hook."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.layers.transformer_block import TransformerBlock
from regard.ops.kernels.packing import ParameterCache, are_readable, may_compile
from regard.ops.kernels.search import CompiledWriter, WordSum
from regard.ops.kernels.transformer import PackedStack, StandardBlock, StepMemory, compiled_transformer
from regard.ops.kernels.vocabulary import PackedTable
from regard.records import Encoded, Sequences


class StandardStack:
    """The standard blocks of a stack. Knows whether a module has a hook, is in training or was replaced.

    It reads the dictionaries of the modules: it is asked before each text, and attributes are slow. A copy of it is
    empty, since the modules of a copied network are others.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Read the modules again at the next use."""
        self._parts = list[nn.Module]()
        self._modules = list[dict[str, Any]]()
        self._children = list[nn.Module | None]()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()

    def parameters(self, blocks: Sequence[TransformerBlock], last: nn.Module) -> list[Tensor] | None:
        """Return the parameters of blocks and of the last norm; None where they must run as modules."""
        if self._parts != [*blocks, last] or self._children != self._inside():
            self._read(blocks, last)
        if not self._is_standard or any(self._hooks) or any(one["training"] for one in self._modules):
            return None
        if any(table.get("weight") is None for table in self._tables):  # it is computed from other parameters
            return None
        return [one for table in self._tables for one in table.values() if one is not None]

    def _read(self, blocks: Sequence[TransformerBlock], last: nn.Module) -> None:
        parts = [*blocks, last]
        self._modules = [vars(module) for one in parts for module in one.modules()]
        self._children = self._inside()
        self._hooks = [one[kind] for one in self._modules for kind in ("_forward_hooks", "_forward_pre_hooks")]
        found = [block.standard() for block in blocks]
        self.blocks = [one for one in found if one is not None]
        self.norm = last if isinstance(last, nn.LayerNorm) else None
        layers = [*(layer for block in self.blocks for layer in block.layers), *filter(None, [self.norm])]
        self._tables, self._is_standard = [layer._parameters for layer in layers], len(self.blocks) == len(blocks)
        self._parts = parts  # at last: another thread that finds them finds the rest

    def _inside(self) -> list[nn.Module | None]:
        return [*chain.from_iterable(one["_modules"].values() for one in self._modules)]


class CompiledBlocks(ParameterCache[PackedStack | None]):
    """The blocks of an encoder or a decoder, packed on first use. Copies of a network may share it."""

    def packed(
        self, blocks: Sequence[TransformerBlock], last: nn.Module, standard: StandardStack
    ) -> PackedStack | None:
        """Return blocks and the final norm, packed with current weights; None where they must run as modules.

        `standard` is what the network knows of them. A hook on any module inside prevents packing.
        """
        if torch.compiler.is_compiling():
            return None
        if last.training:
            self.forget()  # the weights are about to change
            standard.forget()
            return None
        parameters = standard.parameters(blocks, last)
        if parameters is None or not may_compile(parameters[:1]):  # the others are checked when they are packed
            return None
        return self.get(parameters, lambda: self._pack(parameters, standard.blocks, standard.norm))

    def _pack(
        self, parameters: Sequence[Tensor], blocks: Sequence[StandardBlock], norm: nn.LayerNorm | None
    ) -> PackedStack | None:
        """Pack blocks; None where compiled code does not support them. Checked only here, since it is slow."""
        kernel = compiled_transformer() if are_readable(parameters) else None
        same = len({block.shape for block in blocks}) == 1
        return PackedStack(kernel, blocks, norm, self.precision) if same and kernel is not None else None


class Steps(NamedTuple):
    """State of generated rows of a decoder in compiled code."""

    slots: Tensor  # (rows, time) int32: the row of each step that holds a row's own keys
    texts: Tensor  # (rows,) int32: the text that each reads
    shared: "SharedPast"


class SharedPast:
    """State shared by all rows. Its tensors have no row axis, so selecting rows does not change it."""

    def __init__(self, stack: PackedStack, seen: Encoded | None, memory: StepMemory) -> None:
        self.stack, self.seen, self.memory = stack, seen, memory


def encode(stack: PackedStack, source: Sequences) -> Tensor:
    """vectors (batch, source, dim) → states of the same shape; padded ones are zero."""
    states = torch.zeros_like(source.items)
    states[source.mask] = stack.encode(source.items[source.mask], _starts(source.mask))
    return states


def start_steps(stack: PackedStack, seen: Encoded | None, rows: int) -> Steps:
    """Return the past before the first step: one row per text, or `rows` rows without a source."""
    source = None
    if seen is not None:
        starts = _starts(seen.mask)
        source = stack.source(seen.states[seen.mask], starts, int(starts.diff().max()) if len(seen.mask) else 0)
    texts = torch.arange(rows, dtype=torch.int32)
    return Steps(torch.empty(rows, 0, dtype=torch.int32), texts, SharedPast(stack, seen, StepMemory(source)))


def step(vectors: Tensor, steps: Steps) -> tuple[Tensor, Steps]:
    """vectors (rows, n, dim) of the words read → states (rows, n, dim)."""
    slots, texts, shared = steps
    states, memory, slots = shared.stack.steps(vectors, shared.memory, slots, texts)
    return states, Steps(slots, texts, SharedPast(shared.stack, shared.seen, memory))


def writer(ids: Tensor, steps: Steps, words: WordSum, table: PackedTable) -> CompiledWriter:
    """Return a compiled writer that reads ids (rows, 1) after some steps and continues; `table` is the head's."""
    return CompiledWriter(ids, steps.shared.stack, steps.shared.memory, steps.slots, steps.texts, words, table)


def read_again(steps: Steps) -> Tensor:
    """Return the vectors (rows, time, dim) that the rows have read."""
    vectors: Any = [one[steps.slots[:, place]] for place, one in enumerate(steps.shared.memory.vectors)]
    return torch.stack(vectors, dim=1)


def _starts(mask: Tensor) -> Tensor:
    """Return the start of each text among the unmasked places, and the end of the last (batch + 1), from a mask."""
    return torch.cat([torch.zeros(1, dtype=torch.int64), mask.sum(dim=1).cumsum(dim=0)])
