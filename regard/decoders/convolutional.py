"""The decoder of ConvS2S: https://arxiv.org/abs/1705.03122."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.attention import Sockets
from regard.decoders.decoder import Decoder
from regard.layers.convolutional import Gate, GatedBlock, Kernel, projection
from regard.layers.embedders.embedder import Embedder
from regard.layers.gradients import scale_gradient
from regard.layers.multi_step_attention import MultiStepAttention
from regard.layers.shared_source import SharedSource, has_past
from regard.ops.dropout import Dropout
from regard.ops.modules import module_list
from regard.records import Decoded, Encoded, select


class ConvolutionalState(NamedTuple):
    """What is remembered of the rows being written."""

    words: Any  # past of the embedder
    layers: tuple[Any, ...]  # the last inputs of each block
    looked: tuple[Any, ...]  # past of each attention
    source: SharedSource  # one memory per block

    def select(self, rows: Tensor) -> "ConvolutionalState":
        """Rows in that order."""
        source = self.source.select(rows, together=not any(map(has_past, self.looked)))
        words, layers, looked = select((self.words, self.layers, self.looked), rows)
        return ConvolutionalState(words, layers, looked, source)


class ConvolutionalDecoder(Decoder):
    """num_layers blocks h = (x + gate(W * x + b)) · sqrt(1/2) of masked convolutions, each followed by an attention.

    Every block looks at the source for itself (multi-step attention). The encoder's gradient is divided by the number
    of these attentions, that of its embeddings is not (section 3.4). Without a source this is the gated convolutional
    language model of https://arxiv.org/abs/1612.08083.
    """

    def __init__(
        self,
        embedder: Embedder,
        source_dim: int | None,
        sockets: Sockets,
        *,
        hidden_dim: int = 256,
        num_layers: int = 4,
        kernel: Kernel = 3,
        gate: Gate = "glu",
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.embedder, self.dim = embedder, embedder.dim
        fits = hidden_dim == self.dim
        self.enter = nn.Identity() if fits else projection(self.dim, hidden_dim, keep=1 - embedder.dropout.probability)
        self.leave = nn.Identity() if fits else projection(hidden_dim, self.dim)
        self.blocks = module_list(
            GatedBlock(hidden_dim, hidden_dim, kernel=kernel, gate=gate, dropout=dropout) for _ in range(num_layers)
        )
        steps = [] if source_dim is None else [self._step(hidden_dim, source_dim, sockets) for _ in range(num_layers)]
        self.steps, self.dropout = module_list(steps), Dropout(dropout)

    def start(self, *encoded: Encoded, rows: Tensor | None = None) -> ConvolutionalState:
        """Keys and values of the source are computed here, once per sentence."""
        nothing = (None,) * len(self.blocks)
        if not encoded:
            return ConvolutionalState(None, nothing, nothing, SharedSource(()))
        (seen,) = encoded
        states = scale_gradient(seen.states, 1 / max(1, len(self.steps)))
        embeddings = None if seen.values is None else seen.values - seen.states
        memories = tuple(step.remember(states, embeddings, seen.mask) for step in self.steps)
        none_yet = seen.states.new_zeros(len(seen.states), 0, self.dim)
        looked = tuple(step.attention.begin(none_yet, one) for step, one in zip(self.steps, memories, strict=True))
        state = ConvolutionalState(None, nothing, looked, SharedSource(memories))
        return state if rows is None else state.select(rows)

    def forward(
        self, ids: Tensor, state: ConvolutionalState, *, need_weights: bool = False
    ) -> tuple[Decoded, ConvolutionalState]:
        """ids (rows, n) → states (rows, n, dim); weights are the mean over layers and heads."""
        vectors, words = self.embedder(ids, state.words)
        source = state.source if ids.shape[-1] == 1 else state.source.unfolded()
        states, pasts, looked, weights = self.enter(vectors), [], [], []
        for number, block in enumerate(self.blocks):
            states, after = block(states, None, state.layers[number])
            pasts.append(after)
            if not self.steps:
                continue
            memory, past = source.memories[number], state.looked[number]
            seen = self.steps[number](states, vectors, memory, past, fold=source.fold, need_weights=need_weights)
            states = seen.context
            looked.append(seen.past)
            weights.append(seen.weights)
        aligned = torch.stack(weights).mean(dim=0) if need_weights and weights else None
        after_all = ConvolutionalState(words, tuple(pasts), tuple(looked) or state.looked, source)
        return Decoded(self.dropout(self.leave(states)), aligned), after_all

    def _step(self, hidden_dim: int, source_dim: int, sockets: Sockets) -> MultiStepAttention:
        attention = sockets.cross(self.dim, source_dim)
        width = attention.context_dim(source_dim)
        return MultiStepAttention(hidden_dim, attention, word_dim=self.dim, context_dim=width)
