"""Zero-initialised blocks: the change of each goes through a gate that starts at 0."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.layers.shared_source import SharedSource, shared
from regard.layers.transformer_block import BlockPast, TransformerBlock
from regard.ops.modules import module_list
from regard.records import Encoded, select


class BlocksState(NamedTuple):
    """State of generated rows in gated blocks."""

    pasts: tuple[BlockPast, ...]
    source: SharedSource

    def select(self, rows: Tensor) -> "BlocksState":
        """Rows in that order."""
        return BlocksState(select(self.pasts, rows), self.source.select(rows))


class GatedBlocks(nn.Module):
    """x + G (block(x) - x), block after block; block(x) attends to the words before, then to a memory.

    With the initial G = 0, x is unchanged to the bit. A matrix learns its share of a block from the first update on,
    like the zero convolutions of https://arxiv.org/abs/2302.05543; a single number would learn slowly.
    """

    def __init__(self, blocks: Sequence[TransformerBlock]) -> None:
        """`blocks` (dim → dim) have attention to a memory."""
        super().__init__()
        self.blocks = module_list(blocks)
        self.gates = nn.ParameterList(nn.Parameter(torch.zeros(block.dim, block.dim)) for block in blocks)

    def start(self, seen: Encoded) -> BlocksState:
        """Return the state with the memory (batch, place, its width), projected once for each row."""
        return BlocksState((BlockPast(),) * len(self.blocks), shared([block.begin(seen) for block in self.blocks]))

    def forward(
        self, states: Tensor, state: BlocksState, *, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None, BlocksState]:
        """states (rows, n, dim) → states, weights (rows, n, place) of the last block if asked for, the state after."""
        source = state.source if states.shape[1] == 1 else state.source.unfolded()
        pasts, looked = [], []
        for number, (block, gate) in enumerate(zip(self.blocks, self.gates, strict=True)):
            reading = source.reading(number)
            changed, past, seen = block.run(states, None, state.pasts[number], reading, need_weights=need_weights)
            states = states + functional.linear(changed - states, gate)
            pasts.append(past)
            looked.append(seen)
        weights = None if looked[-1] is None else looked[-1].weights
        return states, weights, BlocksState(tuple(pasts), source.after(looked))
