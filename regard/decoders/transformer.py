"""The decoder of https://arxiv.org/abs/1706.03762, with what a search needs: a cache, and one source per sentence."""

from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from regard.attention import Memory, Sockets
from regard.decoders.decoder import Decoder
from regard.errors import ConfigError
from regard.layers.embedders.embedder import Embedder
from regard.layers.feedforward import FeedForward
from regard.layers.transformer_block import BlockPast, TransformerBlock
from regard.modules import module_list
from regard.records import Decoded, Encoded, select


class TransformerState(NamedTuple):
    """Rows stand in groups of `fold` that read the same sentence, so its memory is held once."""

    words: Any  # past of the embedder
    blocks: tuple[BlockPast, ...]  # one row per row being written
    sources: tuple[Memory, ...]  # one row per `fold` rows
    fold: int

    def select(self, rows: Tensor) -> "TransformerState":
        """Rows in that order. Whole groups stay folded; torn ones get a memory per row."""
        sentences, counts = torch.unique_consecutive(rows // self.fold, return_counts=True)
        fold = int(counts[0]) if len(rows) else 1
        if any(_has_past(block.source_past) for block in self.blocks) or bool((counts != fold).any()):
            sentences, fold = rows // self.fold, 1
        sources = self.sources
        if len(sources) and not _is_range(sentences, len(sources[0].keys)):
            sources = select(sources, sentences)
        return TransformerState(self.words, select(self.blocks, rows), sources, fold)


class TransformerDecoder(Decoder):
    """num_layers blocks of causal self-attention, attention to the source and feed-forward."""

    def __init__(
        self,
        embedder: Embedder,
        source_dim: int,
        sockets: Sockets,
        *,
        num_layers: int = 6,
        feedforward_dim: int = 2048,
        norm: Literal["pre", "post"] = "pre",
        alignment_layer: int = -1,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.embedder, self.dim = embedder, embedder.dim
        if not -num_layers <= alignment_layer < num_layers:
            problem = f"there is no layer {alignment_layer} among {num_layers}"
            raise ConfigError("model.decoder.alignment_layer", problem, "count from 0, or from the top with -1, -2 …")
        self.alignment_layer = alignment_layer % num_layers
        self.blocks = module_list(
            TransformerBlock(
                self.dim,
                sockets.causal(self.dim),
                sockets.cross(self.dim, source_dim),
                FeedForward(self.dim, feedforward_dim, dropout=dropout),
                norm=norm,
                dropout=dropout,
            )
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(self.dim) if norm == "pre" else nn.Identity()

    def start(self, *encoded: Encoded, rows: Tensor | None = None, room: int | None = None) -> TransformerState:
        """Keys and values of the source are computed here, once per sentence."""
        (seen,) = encoded
        sources = tuple(block.remember(seen) for block in self.blocks)
        state = TransformerState(None, (BlockPast(),) * len(self.blocks), sources, 1)
        return state if rows is None else state.select(rows)

    def forward(
        self, ids: Tensor, state: TransformerState, *, need_weights: bool = False
    ) -> tuple[Decoded, TransformerState]:
        """ids (rows, n) → states (rows, n, dim); weights are the mean over the heads of `alignment_layer`."""
        states, words = self.embedder(ids, state.words)
        if state.fold > 1 and ids.shape[-1] != 1:
            state = _unfolded(state)
        pasts, aligned = [], None
        for layer, (block, past, source) in enumerate(zip(self.blocks, state.blocks, state.sources, strict=True)):
            wanted = need_weights and layer == self.alignment_layer
            states, after, weights = block.run(states, None, past, source, fold=state.fold, need_weights=wanted)
            pasts.append(after)
            aligned = weights if wanted else aligned
        if aligned is not None:
            aligned = aligned.mean(dim=1) if aligned.dim() == 4 else aligned  # (batch, head, query, key)
            aligned = aligned.reshape(*ids.shape, -1)
        return Decoded(self.norm(states), aligned), TransformerState(words, tuple(pasts), state.sources, state.fold)


def _unfolded(state: TransformerState) -> TransformerState:
    sentences = torch.arange(len(state.sources[0].keys), device=state.sources[0].keys.device)
    return state._replace(sources=select(state.sources, sentences.repeat_interleave(state.fold)), fold=1)


def _has_past(past: tuple[Any, ...] | None) -> bool:
    return past is not None and any(part is not None for part in past)


def _is_range(rows: Tensor, length: int) -> bool:
    return len(rows) == length and bool((rows == torch.arange(length, device=rows.device)).all())
