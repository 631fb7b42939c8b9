"""The smallest translator of attention alone: self-attention of either side, and one that joins them."""

from typing import Any, NamedTuple

from torch import Tensor, nn

from regard.attention import Memory, Sockets, extend
from regard.decoders.decoder import Decoder
from regard.layers.embedders.embedder import Embedder
from regard.layers.shared_source import SharedSource, has_past, look
from regard.ops.dropout import Dropout
from regard.ops.linear import Linear
from regard.ops.modules import module_list
from regard.records import Decoded, Encoded, select


class LayerPast(NamedTuple):
    """What a layer remembers of the rows being written."""

    own: Memory | None = None  # keys and values of the words so far
    own_past: Any = None
    source_past: Any = None


class ThreeAttentionState(NamedTuple):
    """What is remembered of the rows being written."""

    words: Any  # past of the embedder
    layers: tuple[LayerPast, ...]
    source: SharedSource  # one memory per layer

    def select(self, rows: Tensor) -> "ThreeAttentionState":
        """Rows in that order."""
        together = not any(has_past(layer.source_past) for layer in self.layers)
        words, layers = select((self.words, self.layers), rows)
        return ThreeAttentionState(words, layers, self.source.select(rows, together=together))


class ThreeAttentionDecoder(Decoder):
    """Q = CausalSelfAttn(y), O = Attn(Q, K, V), num_layers times; with `residual` y + …, Q + …; p = softmax(W O).

    The third is SelfAttn(x) = K = V of the encoder `self_attention`. Given the words before, all are written at once
    in training: https://arxiv.org/abs/1706.03762 without feed-forward and normalisation.
    """

    def __init__(
        self,
        embedder: Embedder,
        source_dim: int | None,
        sockets: Sockets,
        *,
        num_layers: int = 1,
        residual: bool = False,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.embedder, self.dim, self.residual = embedder, embedder.dim, residual
        self.layers = module_list(
            _Layer(self.dim, source_dim, sockets, residual=residual, dropout=dropout) for _ in range(num_layers)
        )

    def start(self, *encoded: Encoded, rows: Tensor | None = None) -> ThreeAttentionState:
        """Keys and values of the source are computed here, once per sentence."""
        memories = tuple(layer.remember(seen) for layer in self.layers for seen in encoded)
        pasts = tuple(layer.begin(memory) for layer, memory in zip(self.layers, memories, strict=False))
        state = ThreeAttentionState(None, pasts or (LayerPast(),) * len(self.layers), SharedSource(memories))
        return state if rows is None or not encoded else state.select(rows)

    def forward(
        self, ids: Tensor, state: ThreeAttentionState, *, need_weights: bool = False
    ) -> tuple[Decoded, ThreeAttentionState]:
        """ids (rows, n) → states (rows, n, dim); weights are the mean over the heads of the last layer."""
        states, words = self.embedder(ids, state.words)
        source = state.source if ids.shape[-1] == 1 else state.source.unfolded()
        memories = source.memories or (None,) * len(self.layers)
        pasts, weights = [], None
        for layer, past, memory in zip(self.layers, state.layers, memories, strict=True):
            states, after, weights = layer(states, past, memory, source.fold, need_weights)
            pasts.append(after)
        return Decoded(states, weights), ThreeAttentionState(words, tuple(pasts), source)


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

    def remember(self, seen: Encoded) -> Memory:
        """The source as this layer will read it."""
        if self.cross is None:
            raise ValueError("this layer was built without attention to a source")
        return self.cross.remember(seen.states, seen.read, mask=seen.mask)

    def begin(self, memory: Memory) -> LayerPast:
        """Before the first word."""
        nothing = memory.values.new_zeros(len(memory.values), 0, self.dim)
        return LayerPast(source_past=None if self.cross is None else self.cross.begin(nothing, memory))

    def forward(
        self, inputs: Tensor, past: LayerPast, source: Memory | None, fold: int, need_weights: bool
    ) -> tuple[Tensor, LayerPast, Tensor | None]:
        """inputs (rows, n, dim) → outputs (rows, n, dim), past, weights on the source if asked for."""
        own = extend(past.own, self.own.remember(inputs))
        itself = self.own(inputs, own, past.own_past)
        states = self._join(inputs, self.from_own(itself.context))
        if self.cross is None or source is None:
            return states, LayerPast(own, itself.past), None
        seen = look(self.cross, states, source, past.source_past, fold=fold, need_weights=need_weights)
        states = self._join(states, self.from_source(seen.context))
        return states, LayerPast(own, itself.past, seen.past), seen.weights

    def _join(self, before: Tensor, seen: Tensor) -> Tensor:
        seen = self.dropout(seen)
        return before + seen if self.residual else seen
