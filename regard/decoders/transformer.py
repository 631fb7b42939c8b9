"""The decoder of https://arxiv.org/abs/1706.03762, with what a search needs: a cache, and one source per sentence."""

from typing import Any, Literal, NamedTuple

from torch import Tensor, nn

from regard.attention import Sockets
from regard.decoders.decoder import Decoder
from regard.errors import ConfigError
from regard.layers.embedders.embedder import Embedder
from regard.layers.feedforwards import FEEDFORWARDS, FeedForwardChoice
from regard.layers.histories import HISTORIES, HistoryChoice
from regard.layers.shared_source import SharedSource, has_past
from regard.layers.transformer_block import BlockPast, TransformerBlock
from regard.ops.modules import module_list
from regard.records import Decoded, Encoded, select
from regard.registry import Choice


class TransformerState(NamedTuple):
    """What is remembered of the rows being written."""

    words: Any  # past of the embedder
    blocks: tuple[BlockPast, ...]  # one row per row being written
    source: SharedSource  # one memory per block

    def select(self, rows: Tensor) -> "TransformerState":
        """Rows in that order."""
        together = not any(has_past(block.source_past) for block in self.blocks)
        words, blocks = select((self.words, self.blocks), rows)
        return TransformerState(words, blocks, self.source.select(rows, together=together))


class TransformerDecoder(Decoder):
    """num_layers blocks of causal self-attention, attention to the source if there is one, and feed-forward.

    history: what stands in the place of self-attention, such as an average or a recurrent layer, whose cost for a word
    does not grow with the words before it.
    """

    def __init__(
        self,
        embedder: Embedder,
        source_dim: int | None,
        sockets: Sockets,
        *,
        num_layers: int = 6,
        feedforward_dim: int = 2048,
        feedforward: FeedForwardChoice = Choice("position_wise"),
        history: HistoryChoice | None = None,
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
        blocks = []
        for _ in range(num_layers):
            cross = None if source_dim is None else sockets.cross(self.dim, source_dim)
            below = FEEDFORWARDS.build(feedforward, self.dim, feedforward_dim, given={"dropout": dropout})
            if below.whole:
                problem = f"'{feedforward.name}' must know all of a sequence, but a decoder's own words come one by one"
                raise ConfigError("model.decoder.feedforward", problem, "use it in model.encoder")
            blocks.append(
                TransformerBlock(
                    self.dim,
                    sockets.causal(self.dim) if history is None else None,
                    cross,
                    below,
                    history=None if history is None else HISTORIES.build(history, self.dim, feedforward_dim),
                    context_dim=None if cross is None or source_dim is None else cross.context_dim(source_dim),
                    norm=norm,
                    dropout=dropout,
                )
            )
        self.blocks = module_list(blocks)
        self.norm = nn.LayerNorm(self.dim) if norm == "pre" else nn.Identity()

    def start(self, *encoded: Encoded, rows: Tensor | None = None) -> TransformerState:
        """Keys and values of the source are computed here, once per sentence."""
        if not encoded:
            return TransformerState(None, (BlockPast(),) * len(self.blocks), SharedSource(()))
        (seen,) = encoded
        memories = tuple(block.remember(seen) for block in self.blocks)
        begun = tuple(block.begin(memory) for block, memory in zip(self.blocks, memories, strict=True))
        state = TransformerState(None, begun, SharedSource(memories))
        return state if rows is None else state.select(rows)

    def forward(
        self, ids: Tensor, state: TransformerState, *, need_weights: bool = False
    ) -> tuple[Decoded, TransformerState]:
        """ids (rows, n) → states (rows, n, dim); weights are the mean over the heads of `alignment_layer`."""
        states, words = self.embedder(ids, state.words)
        source = state.source if ids.shape[-1] == 1 else state.source.unfolded()
        memories = source.memories or (None,) * len(self.blocks)
        pasts, aligned = [], None
        for layer, (block, past, memory) in enumerate(zip(self.blocks, state.blocks, memories, strict=True)):
            wanted = need_weights and layer == self.alignment_layer
            states, after, weights = block.run(states, None, past, memory, fold=source.fold, need_weights=wanted)
            pasts.append(after)
            aligned = weights if wanted else aligned
        return Decoded(self.norm(states), aligned), TransformerState(words, tuple(pasts), source)
