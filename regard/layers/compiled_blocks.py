"""Stacks of Transformer blocks in compiled code, where it knows all their parts and nobody watches them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.layers.transformer_block import TransformerBlock
from regard.ops.kernels.packed import Kept, may_compile
from regard.ops.kernels.transformer import PackedStack, Written, compiled_transformer
from regard.records import Encoded, Sequences


class CompiledBlocks(Kept[PackedStack]):
    """The blocks of an encoder or a decoder, packed when they are first run."""

    def packed(
        self, blocks: Sequence[TransformerBlock], last: nn.Module, modules: Sequence[nn.Module]
    ) -> PackedStack | None:
        """These blocks and the norm behind them as they are now; None where they must run as they are.

        `modules` are all that are in them.
        """
        if torch.compiler.is_compiling():
            return None
        if last.training:
            self.forget()  # the weights are about to change
        if any(module.training or module._forward_hooks or module._forward_pre_hooks for module in modules):
            return None
        parameters = [one for module in modules for one in module._parameters.values() if one is not None]
        kernel = compiled_transformer() if may_compile(parameters) else None
        plain = [found for block in blocks if (found := block.plain()) is not None]
        if kernel is None or len(plain) < len(blocks):
            return None
        norm = last if isinstance(last, nn.LayerNorm) else None
        return self.get(parameters, lambda: PackedStack(kernel, plain, norm, self.precision))


def modules_in(blocks: Sequence[TransformerBlock], last: nn.Module) -> list[nn.Module]:
    """Return all modules in blocks and in the norm behind them."""
    return [module for one in (*blocks, last) for module in one.modules()]


class Steps(NamedTuple):
    """What a decoder remembers of the rows it writes, in compiled code."""

    slots: Tensor  # (rows, time) int32: in which row of each step a row's own keys are
    texts: Tensor  # (rows,) int32: the text that each reads
    held: "Held"


class Held:
    """What all rows share."""

    def __init__(self, stack: PackedStack, seen: Encoded | None, written: Written) -> None:
        self.stack, self.seen, self.written = stack, seen, written


def encode(stack: PackedStack, source: Sequences) -> Tensor:
    """vectors (batch, source, dim) → states of the same shape; padded ones are zero."""
    states = torch.zeros_like(source.items)
    states[source.mask] = stack.encode(source.items[source.mask], _starts(source.mask))
    return states


def start(stack: PackedStack, seen: Encoded | None, rows: int) -> Steps:
    """One row per text, or so many rows without a source."""
    source = None
    if seen is not None:
        starts = _starts(seen.mask)
        source = stack.source(seen.states[seen.mask], starts, int(starts.diff().max()) if len(seen.mask) else 0)
    texts = torch.arange(rows, dtype=torch.int32)
    return Steps(torch.empty(rows, 0, dtype=torch.int32), texts, Held(stack, seen, Written(source)))


def step(vectors: Tensor, steps: Steps) -> tuple[Tensor, Steps]:
    """vectors (rows, n, dim) of the words read → states (rows, n, dim)."""
    states, (slots, texts, held) = list[Tensor](), steps
    own = torch.arange(len(vectors), dtype=torch.int32).unsqueeze(-1)
    written = held.written
    for place in range(vectors.shape[1]):
        seen, written = held.stack.step(vectors[:, place], written, slots, texts)
        states.append(seen)
        slots = torch.cat([slots, own], dim=1)
    return torch.stack(states, dim=1), Steps(slots, texts, Held(held.stack, held.seen, written))


def read_again(steps: Steps) -> Tensor:
    """The vectors (rows, time, dim) that the rows have read."""
    vectors: Any = [one[steps.slots[:, place]] for place, one in enumerate(steps.held.written.vectors)]
    return torch.stack(vectors, dim=1)


def _starts(mask: Tensor) -> Tensor:
    """mask (batch, source) → where each text begins among the places shown, and the end of the last (batch + 1)."""
    return torch.cat([torch.zeros(1, dtype=torch.int64), mask.sum(dim=1).cumsum(dim=0)])
