"""The smallest translator of attention alone: self-attention of either side, and one that joins them."""

from typing import Annotated, Any, NamedTuple

from torch import Tensor, nn

from regard.attention import Attended, Memory, Sockets, extend
from regard.config import Doc
from regard.config.common_settings import DropoutProbability, NumLayers
from regard.decoders.decoder import Decoder, DecoderState
from regard.layers.embedders.embedder import Embedder
from regard.layers.shared_source import Reading, begin, read_source, shared
from regard.ops.dropout import Dropout
from regard.ops.linear import Linear
from regard.ops.modules import module_list
from regard.records import Decoded, Encoded


class LayerPast(NamedTuple):
    """State of a layer for the rows being written."""

    own: Memory | None = None  # keys and values of the words so far
    own_past: Any = None


class ThreeAttentionDecoder(Decoder):
    """Q = CausalSelfAttn(y), O = Attn(Q, K, V), num_layers times; with `residual` y + …, Q + …; p = softmax(W O).

    The third is SelfAttn(x) = K = V of the encoder `self_attention`. Given the words before, all are written at once
    in training: https://arxiv.org/abs/1706.03762 without feed-forward and normalisation. Weights are the
    mean over the heads of the last layer.
    """

    aliases = "self_attention, self_attn, san"

    def __init__(
        self,
        embedder: Embedder,
        source_dim: int | None,
        sockets: Sockets,
        *,
        num_layers: NumLayers = 1,
        residual: Annotated[bool, Doc("Residual connection around each layer.")] = False,
        dropout: DropoutProbability = 0.1,
    ) -> None:
        super().__init__()
        self.embedder, self.dim, self.residual = embedder, embedder.dim, residual
        self.layers = module_list(
            _Layer(self.dim, source_dim, sockets, residual=residual, dropout=dropout) for _ in range(num_layers)
        )

    def begin(self, seen: Encoded | None, rows: int) -> DecoderState:
        readings = [] if seen is None else [layer.begin(seen) for layer in self.layers]
        return DecoderState((LayerPast(),) * len(self.layers), shared(readings))

    def advance(
        self, vectors: Tensor, mask: Tensor | None, state: DecoderState, need_weights: bool
    ) -> tuple[Decoded, DecoderState]:
        states, pasts, looked = vectors, list[LayerPast](), list[Attended | None]()
        for number, (layer, past) in enumerate(zip(self.layers, state.layers, strict=True)):
            states, after, seen = layer(states, past, state.source.reading(number), need_weights)
            pasts.append(after)
            looked.append(seen)
        weights = None if looked[-1] is None else looked[-1].weights
        return Decoded(states, weights), state._replace(layers=tuple(pasts), source=state.source.after(looked))


class _Layer(nn.Module):
    """Own words, then the source."""

    def __init__(self, dim: int, source_dim: int | None, sockets: Sockets, *, residual: bool, dropout: float) -> None:
        super().__init__()
        self.dim, self.residual, self.dropout = dim, residual, Dropout(dropout)
        self.own = sockets.causal(dim)
        self.cross = None if source_dim is None else sockets.cross(dim, source_dim)
        width = dim if self.cross is None or source_dim is None else self.cross.context_dim(source_dim)
        own_width = self.own.context_dim(dim)
        self.from_own = nn.Identity() if own_width == dim else Linear(own_width, dim)
        self.from_source = nn.Identity() if width == dim else Linear(width, dim)

    def begin(self, seen: Encoded) -> Reading:
        """The source as this layer will read it."""
        if self.cross is None:
            raise ValueError("this layer was built without attention to a source")
        return begin(self.cross, self.dim, seen.states, seen.read, seen.mask)

    def forward(
        self, inputs: Tensor, past: LayerPast, source: Reading | None, need_weights: bool
    ) -> tuple[Tensor, LayerPast, Attended | None]:
        """inputs (rows, n, dim) → outputs (rows, n, dim), past, what was seen of the source."""
        own = extend(past.own, self.own.remember(inputs))
        itself = self.own(inputs, own, past.own_past)
        after, states = LayerPast(own, itself.past), self._join(inputs, self.from_own(itself.context))
        if self.cross is None or source is None:
            return states, after, None
        seen = read_source(self.cross, states, source, need_weights=need_weights)
        return self._join(states, self.from_source(seen.context)), after, seen

    def _join(self, before: Tensor, seen: Tensor) -> Tensor:
        seen = self.dropout(seen)
        return before + seen if self.residual else seen
