"""Blocks that begin as nothing: each is mixed into what it reads by a gate that is 0 at first."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.layers.shared_source import SharedSource, shared
from regard.layers.transformer_block import BlockPast, TransformerBlock
from regard.ops.modules import module_list
from regard.records import Encoded, select


class BlocksState(NamedTuple):
    """What gated blocks remember of the rows being written."""

    pasts: tuple[BlockPast, ...]
    source: SharedSource

    def select(self, rows: Tensor) -> "BlocksState":
        """Rows in that order."""
        return BlocksState(select(self.pasts, rows), self.source.select(rows))


class GatedBlocks(nn.Module):
    """x + tanh(g) · (block(x) - x), block after block; block(x) looks at the words before, then at a memory.

    With all g at 0, as they are at first, x stays as it is to the bit: the gates of https://arxiv.org/abs/2204.14198,
    each around a whole block.
    """

    def __init__(self, blocks: Sequence[TransformerBlock]) -> None:
        """`blocks` (dim → dim) have attention to a memory."""
        super().__init__()
        self.blocks, self.gates = module_list(blocks), nn.Parameter(torch.zeros(len(blocks)))

    def start(self, seen: Encoded) -> BlocksState:
        """The memory (batch, place, its width), projected once for each row."""
        return BlocksState((BlockPast(),) * len(self.blocks), shared([block.begin(seen) for block in self.blocks]))

    def forward(
        self, states: Tensor, state: BlocksState, *, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None, BlocksState]:
        """states (rows, n, dim) → states, weights (rows, n, place) of the last block if asked for, the state after."""
        source = state.source if states.shape[1] == 1 else state.source.unfolded()
        pasts, looked = [], []
        for number, (block, gate) in enumerate(zip(self.blocks, self.gates.tanh(), strict=True)):
            reading = source.reading(number)
            changed, past, seen = block.run(states, None, state.pasts[number], reading, need_weights=need_weights)
            states = states + gate * (changed - states)
            pasts.append(past)
            looked.append(seen)
        weights = None if looked[-1] is None else looked[-1].weights
        return states, weights, BlocksState(tuple(pasts), source.after(looked))
