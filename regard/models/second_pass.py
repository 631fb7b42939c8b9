"""Base class of two-pass models: a decoder's states, changed by blocks that attend to a draft."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention import name_columns
from regard.config import Before, Doc
from regard.config.bounds import Layers
from regard.decoders.decoder import Decoder
from regard.heads.head import Head
from regard.layers.embedders.embedder import Embedder
from regard.layers.feedforwards import FEEDFORWARDS
from regard.layers.shared_source import SharedSource, shared
from regard.layers.transformer_block import BlockPast, TransformerBlock
from regard.models.build import build_sockets
from regard.models.model import Distributions, Generator, WrittenColumn
from regard.models.settings import HEADS_OF_FOUR, AttentionChoice, TranslatorSettings
from regard.models.translator import Translator, Writing
from regard.ops.kernels.search import Rules
from regard.ops.modules import module_list
from regard.records import BOS, EOS, PAD, SOURCE, TARGET, Batch, Decoded, Encoded, State, Step, select
from regard.registry import Choice


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


DRAFT = "draft"  # the column that a two-pass model generates itself
WIDER = 4  # ratio of a block's hidden layer to its states
_RATIO, _EXTRA = 2, 10  # maximum pieces of a draft: ratio · source + extra
DraftIds = tuple[int, ...]


@dataclass(frozen=True)
class SecondPassSettings(TranslatorSettings):
    """Settings of a translator, and of the blocks above its decoders."""

    attention: Annotated[
        AttentionChoice, Doc("Attention of the decoders over the source, and of their blocks over the draft.")
    ] = HEADS_OF_FOUR
    num_layers: Annotated[Layers, Doc("Number of blocks of the second pass."), Before("dropout")] = 1


class Draft(NamedTuple):
    """Output of the first pass, row by row."""

    seen: Encoded  # (batch, place, width): each piece of the draft, with the state that predicted it
    ids: Tensor  # (batch, place), PAD after each sentence


class Rereading(NamedTuple):
    """The state of both passes between steps."""

    first: Writing
    second: BlocksState | None  # None: this route has one pass

    def select(self, rows: Tensor) -> "Rereading":
        """Rows of both."""
        return Rereading(self.first.select(rows), None if self.second is None else self.second.select(rows))


class SecondPass(Generator):
    """A translator, and blocks above its decoders that attend to a draft."""

    first: Translator

    @abstractmethod
    def blocks(self, route: str) -> GatedBlocks | None:
        """Return the blocks of a route; None where it has one pass."""

    @abstractmethod
    def draft(self, batch: Batch) -> Draft:
        """Return the draft that the blocks of the batch's route attend to."""

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        decoded, encoded = self.decode(batch)
        targets = batch.sequences(TARGET).items
        losses: Tensor = self._head(batch.route).nll(decoded, encoded, targets, smoothing=smoothing)
        return losses

    def distributions(self, batch: Batch) -> Distributions:
        decoded, encoded = self.decode(batch)
        target = batch.sequences(TARGET)
        scores: Tensor = self._head(batch.route).scores(decoded, encoded, target.mask)
        return Distributions(scores, target.items[target.mask])

    def counted(self, batch: Batch) -> Tensor:
        return batch.sequences(TARGET).mask

    def drafted(self, batch: Batch) -> Tensor | None:
        """Return ids (batch, place) of the draft, PAD after each sentence; None where the route has one pass."""
        return None if self.blocks(batch.route) is None else self.draft(batch).ids

    def draft_route(self, route: str) -> str:
        """Return the route that generates the drafts of a route."""
        return route

    def longest_draft(self, ids: Mapping[str, Sequence[int]]) -> int:
        """Return the maximum places of an example's draft, given the ids of its columns without end symbols."""
        return longest_draft(len(ids[SOURCE]) + 1)

    @property
    def written_columns(self) -> Mapping[str, WrittenColumn]:
        """The draft."""
        return {DRAFT: WrittenColumn(self.drafted, self.draft_route, self.longest_draft)}

    def reads(self, batch: Batch) -> list[tuple[Embedder, Tensor]]:
        return self.first.reads(batch)

    @property
    def max_source(self) -> int | None:
        return self.first.max_source

    def longest(self, batch: Batch) -> int | None:
        return self.first.longest(batch)

    def start(self, batch: Batch) -> Rereading:
        blocks = self.blocks(batch.route)
        return Rereading(self.first.start(batch), None if blocks is None else blocks.start(self.draft(batch).seen))

    def step(self, ids: Tensor, state: Rereading, *, need_weights: bool = False) -> tuple[Step, State]:
        decoded, after = self._read(ids, state, need_weights)
        log_probs = self._head(state.first.route).log_probs(decoded, state.first.encoded)[:, -1]
        looks = None if decoded.weights is None else decoded.weights[:, -1]
        return Step(log_probs, looks, states=decoded.states[:, -1]), after

    def best(
        self, ids: Tensor, state: Rereading, count: int, forbidden: Sequence[int] = (), included: Sequence[int] = ()
    ) -> tuple[Tensor, Tensor, State]:
        decoded, after = self._read(ids, state)
        head = self._head(state.first.route)
        return *head.best(decoded, state.first.encoded, count, forbidden, included), after

    def _read(self, ids: Tensor, state: Rereading, need_weights: bool = False) -> tuple[Decoded, Rereading]:
        first, head = state.first, self._head(state.first.route)
        decoded, after = self._decoder(first.route)(ids, first.decoder, need_weights=need_weights or head.needs_weights)
        weights = decoded.weights
        if weights is not None:  # an encoder may have unfolded to more places than there are words
            weights = weights[..., : first.mask.shape[1]].masked_fill(~first.mask.unsqueeze(1), 0.0)
        blocks, states, second = self.blocks(first.route), decoded.states, state.second
        if blocks is not None and second is not None:
            states, _, second = blocks(states, second)
        return Decoded(states, weights), Rereading(first._replace(decoder=after), second)

    def _decoder(self, route: str) -> Decoder:
        return self.first.decoders[self.first.routes[route].decoder]

    def _head(self, route: str) -> Head:
        return self.first.heads[self.first.routes[route].head]


def greedy_drafts(translator: Translator, batch: Batch) -> list[DraftIds]:
    """Return the greedy translation of each source, with its end symbol."""
    ids = torch.full((len(batch.lines), 1), BOS, device=batch.sequences(SOURCE).items.device)
    limits = _RATIO * batch.sequences(SOURCE).mask.sum(dim=-1) + _EXTRA
    most = translator.longest(batch)
    limits = limits if most is None else limits.clamp(max=most)
    begun, longest = translator.start(batch), int(limits.max())
    writer = translator.compiled_writer(ids, begun, longest)
    if writer is not None:
        rules = Rules(1, 1, 0, 0, limits.numpy(force=True), np.ones(longest + 2))
        if (found := writer.beam(rules, None)) is not None:
            return [(*best.ids, EOS) for best, *_ in found]
    rows, state, ended = list[Tensor](), cast(Any, begun), torch.zeros_like(limits, dtype=torch.bool)
    for step in range(longest):
        ids, _, state = translator.best(ids, state, 1, (PAD, BOS))
        ended |= step + 1 >= limits
        rows.append(ids.masked_fill(ended.unsqueeze(-1), EOS))
        ended |= rows[-1].squeeze(-1) == EOS
        if bool(ended.all()):
            break
    lines = torch.cat(rows, dim=1).tolist()
    return [(*line[: [*line, EOS].index(EOS)], EOS) for line in lines]


def build_second(decodes: Decoder, draft_width: int, shared: SecondPassSettings) -> GatedBlocks:
    """Return blocks above a decoder that attend to a draft (batch, place, draft_width)."""
    sockets, blocks = build_sockets(shared.attention, shared.self_attention), list[TransformerBlock]()
    for _ in range(shared.num_layers):
        cross = sockets.cross(decodes.dim, draft_width)
        below = FEEDFORWARDS.build(
            Choice("position_wise"), decodes.dim, WIDER * decodes.dim, given={"dropout": shared.dropout}
        )
        blocks.append(
            TransformerBlock(
                decodes.dim,
                sockets.causal(decodes.dim),
                cross,
                below,
                context_dim=cross.context_dim(draft_width),
                dropout=shared.dropout,
            )
        )
    second = GatedBlocks(blocks)
    name_columns(second, TARGET, read=DRAFT)
    return second


def longest_draft(source: int) -> int:
    """Return the maximum ids of the draft of a source of `source` ids, both with end symbols."""
    return _RATIO * source + _EXTRA + 1


def draft_vectors(decoder: Decoder, states: Tensor, ids: Tensor) -> Tensor:
    """Concatenate states (batch, n, dim) of a decoder and their predicted words (batch, n) → (batch, n, width)."""
    words, _ = decoder.embedder(ids)
    return torch.cat([states, words], dim=-1)


def draft_width(decoder: Decoder) -> int:
    """Return the width of a piece of a draft."""
    return decoder.dim + decoder.embedder.dim
