"""The decoder of https://arxiv.org/abs/1706.03762, with what a search needs: a cache, and one source per sentence."""

from typing import Annotated, Literal

import torch
from torch import Tensor, nn

from regard.aliases import alias
from regard.attention import Attended, Sockets
from regard.config import Doc
from regard.config.bounds import AnyInt, Size
from regard.config.common_settings import DropoutProbability, NumLayers
from regard.decoders.decoder import Decoder, DecoderState
from regard.errors import PartError
from regard.layers.compiled_blocks import CompiledBlocks, StandardStack, Steps, read_again, start_steps, step, writer
from regard.layers.embedders.embedder import Embedder
from regard.layers.feedforwards import FEEDFORWARDS, FeedForwardChoice
from regard.layers.histories import HISTORIES, HistoryChoice
from regard.layers.normalisation.norm import Eps
from regard.layers.shared_source import shared
from regard.layers.transformer_block import BlockPast, DeepNetInit, TransformerBlock, init_deepnet
from regard.ops.kernels.search import CompiledWriter
from regard.ops.kernels.vocabulary import PackedTable
from regard.ops.modules import module_list
from regard.records import Decoded, Encoded
from regard.registry import Choice


class TransformerDecoder(Decoder):
    """num_layers blocks of causal self-attention, attention to the source if there is one, and feed-forward.

    history: what stands in the place of self-attention, such as an average or a recurrent layer, whose cost for a word
    does not grow with the words before it. Weights are the mean over the heads of `alignment_layer`.
    """

    aliases = (
        "attention_is_all_you_need, decoder_only, ffn, feedforward, gpt, multihead, transformer_decoder, vaswani",
        alias("aan, average_attention", {"history": "average"}),
    )
    of_source = ("alignment_layer",)

    def __init__(
        self,
        embedder: Embedder,
        source_dim: int | None,
        sockets: Sockets,
        *,
        num_layers: NumLayers = 6,
        feedforward_dim: Annotated[Size, Doc("Width of the hidden layer of each feed-forward network.")] = 2048,
        feedforward: FeedForwardChoice = Choice("position_wise"),
        history: Annotated[
            HistoryChoice | None, Doc("Replacement for self-attention (token mixer); null: self-attention.")
        ] = None,
        norm: Annotated[
            Literal["pre", "post"], Doc("Layer normalisation before each sublayer, or after it (the paper).")
        ] = "pre",
        norm_eps: Annotated[Eps, Doc("Epsilon of layer normalisation, for numerical stability.")] = 1e-5,
        deepnet_init: DeepNetInit = False,
        alignment_layer: Annotated[AnyInt, Doc("Layer whose cross-attention is the alignment; -1: the last.")] = -1,
        dropout: DropoutProbability = 0.1,
    ) -> None:
        super().__init__()
        self.embedder, self.dim = embedder, embedder.dim
        self.alignment_layer = _place_of(alignment_layer, num_layers)
        blocks = []
        for _ in range(num_layers):
            cross = None if source_dim is None else sockets.cross(self.dim, source_dim)
            below = FEEDFORWARDS.build(
                feedforward, self.dim, feedforward_dim, given={"dropout": dropout}, place="feedforward"
            )
            if below.whole:
                problem = f"'{feedforward.name}' must know all of a sequence, but a decoder's own words come one by one"
                raise PartError(problem, "use it in model.encoder", setting="feedforward")
            blocks.append(
                TransformerBlock(
                    self.dim,
                    sockets.causal(self.dim) if history is None else None,
                    cross,
                    below,
                    history=history and HISTORIES.build(history, self.dim, feedforward_dim, place="history"),
                    context_dim=None if cross is None or source_dim is None else cross.context_dim(source_dim),
                    norm=norm,
                    norm_eps=norm_eps,
                    dropout=dropout,
                )
            )
        self.blocks = module_list(blocks)
        if deepnet_init:
            init_deepnet(self.blocks, (3 * num_layers) ** 0.25, (12 * num_layers) ** -0.25)
        self.norm = nn.LayerNorm(self.dim, eps=norm_eps) if norm == "pre" else nn.Identity()
        self.compiled, self.compilable = CompiledBlocks(), StandardStack()

    def compiled_writer(
        self, ids: Tensor, state: DecoderState, table: PackedTable, steps: int
    ) -> CompiledWriter | None:
        """Return it where the blocks are compiled, and the embedder adds up what compiled code knows."""
        past = state.layers
        if not isinstance(past, Steps) or self._forward_hooks or self._forward_pre_hooks:
            return None
        words = self.embedder.word_sum(state.words, steps)
        return None if words is None else writer(ids, past, words, table)

    def begin(self, seen: Encoded | None, rows: int) -> DecoderState:
        reads = self.blocks[0].cross is not None
        fits = not reads if seen is None else reads and seen.values is None
        stack = self.compiled.packed(self.blocks, self.norm, self.compilable) if fits else None
        return self._begin_plainly(seen) if stack is None else DecoderState(start_steps(stack, seen, rows))

    def _begin_plainly(self, seen: Encoded | None) -> DecoderState:
        readings = [] if seen is None else [block.begin(seen) for block in self.blocks]
        return DecoderState((BlockPast(),) * len(self.blocks), shared(readings))

    def advance(
        self, vectors: Tensor, mask: Tensor | None, state: DecoderState, need_weights: bool
    ) -> tuple[Decoded, DecoderState]:
        if isinstance(state.layers, Steps):
            if not need_weights and not torch.is_grad_enabled():
                seen, steps = step(vectors, state.layers)
                return Decoded(seen), state._replace(layers=steps)
            state = self._as_plain(state)
        states, pasts, looked = vectors, list[BlockPast](), list[Attended | None]()
        for layer, (block, past) in enumerate(zip(self.blocks, state.layers, strict=True)):
            wanted = need_weights and layer == self.alignment_layer
            states, after, attended = block.run(states, None, past, state.source.reading(layer), need_weights=wanted)
            pasts.append(after)
            looked.append(attended)
        aligned = looked[self.alignment_layer]
        weights = None if aligned is None else aligned.weights
        return Decoded(self.norm(states), weights), state._replace(
            layers=tuple(pasts), source=state.source.after(looked)
        )

    def _as_plain(self, state: DecoderState) -> DecoderState:
        """Return the state of compiled steps as that of the blocks, which know weights and gradients."""
        steps: Steps = state.layers
        plain = self._begin_plainly(steps.shared.seen)._replace(words=state.words)
        plain = plain._replace(source=plain.source.select(steps.texts.long()))
        if not steps.slots.shape[1]:
            return plain
        unfolded = plain._replace(source=plain.source.unfolded())
        return self.advance(read_again(steps), None, unfolded, False)[1]


def _place_of(layer: int, layers: int) -> int:
    """Return the place of a layer that may be counted from the top. Raises PartError where there is none."""
    if not -layers <= layer < layers:
        problem = f"there is no layer {layer} among {layers}"
        raise PartError(problem, "count from 0, or from the top with -1, -2 …", setting="alignment_layer")
    return layer % layers
