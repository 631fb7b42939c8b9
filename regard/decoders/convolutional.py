"""The decoder of ConvS2S: https://arxiv.org/abs/1705.03122."""

import torch
from torch import Tensor, nn

from regard.attention import Attended, Sockets
from regard.config.common_settings import DropoutProbability, HiddenDim, NumLayers
from regard.decoders.decoder import Decoder, DecoderState
from regard.layers.convolutional.convolution import Kernel
from regard.layers.convolutional.gated_block import Gate, GatedBlock, projection
from regard.layers.embedders.embedder import Embedder
from regard.layers.multi_step_attention import MultiStepAttention
from regard.layers.shared_source import Reading, shared
from regard.ops.dropout import Dropout
from regard.ops.functional import scale_gradient
from regard.ops.modules import module_list
from regard.records import Decoded, Encoded


class ConvolutionalDecoder(Decoder):
    """num_layers blocks h = (x + gate(W * x + b)) · sqrt(1/2) of masked convolutions, each followed by an attention.

    Every block attends to the source separately (multi-step attention). The encoder's gradient is divided by the number
    of these attentions, that of its embeddings is not (section 3.4). Weights are the mean over layers and heads.
    Without a source this is the gated convolutional language model of https://arxiv.org/abs/1612.08083.
    """

    aliases = (
        "cnn, conv, convolution, convs2s, fconv, gated_cnn, gated_linear_unit, glu, 门控线性单元",
        "masked_convolution, multi_step, multi_hop, 多步, 多跳",
    )

    def __init__(
        self,
        embedder: Embedder,
        source_dim: int | None,
        sockets: Sockets,
        *,
        hidden_dim: HiddenDim = 256,
        num_layers: NumLayers = 4,
        kernel: Kernel = 3,
        gate: Gate = "glu",
        dropout: DropoutProbability = 0.1,
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

    def begin(self, seen: Encoded | None, rows: int) -> DecoderState:
        return DecoderState((None,) * len(self.blocks), shared([] if seen is None else self._readings(seen)))

    def _readings(self, seen: Encoded) -> list[Reading]:
        count = len(self.steps) if self.training else 1  # outside of training a gradient explains an answer
        states = scale_gradient(seen.states, 1 / max(1, count))
        embeddings = None if seen.values is None else seen.values - seen.states
        return [step.begin(states, embeddings, seen.mask) for step in self.steps]

    def advance(
        self, vectors: Tensor, mask: Tensor | None, state: DecoderState, need_weights: bool
    ) -> tuple[Decoded, DecoderState]:
        states, pasts, looked = self.enter(vectors), [], list[Attended]()
        for number, block in enumerate(self.blocks):
            states, after = block(states, None, state.layers[number])
            pasts.append(after)
            source = state.source.reading(number)
            if source is None:
                continue
            looked.append(self.steps[number](states, vectors, source, need_weights=need_weights))
            states = looked[-1].context
        weights = [seen.weights for seen in looked if seen.weights is not None]
        aligned = torch.stack(weights).mean(dim=0) if weights else None
        after_all = state._replace(layers=tuple(pasts), source=state.source.after(looked))
        return Decoded(self.dropout(self.leave(states)), aligned), after_all

    def _step(self, hidden_dim: int, source_dim: int, sockets: Sockets) -> MultiStepAttention:
        attention = sockets.cross(self.dim, source_dim)
        width = attention.context_dim(source_dim)
        return MultiStepAttention(hidden_dim, attention, word_dim=self.dim, context_dim=width)
