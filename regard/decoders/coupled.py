"""Decoders that read the source beside their words, place by place: https://arxiv.org/abs/1610.10099, section 3.1."""

from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention import Attended, Sockets
from regard.decoders.decoder import Decoder, DecoderState
from regard.layers.embedders.embedder import Embedder
from regard.layers.layer import Layer
from regard.layers.shared_source import Reading, begin, read_source, shared
from regard.ops.dropout import Dropout
from regard.ops.linear import Linear
from regard.records import Decoded, Encoded

Merge = Literal["add", "concatenate"]


class CoupledPast(NamedTuple):
    """State of the layers for the rows being written."""

    stack: Any = None
    written: int = 0  # how many words


class Coupling(nn.Module):
    """x_i = y_i + W c_i or W [y_i; c_i], y_i the word before the i-th, c_i what its query y_i sees of the source.

    With the span `same_position` c_i is the source's i-th state and zero behind its end: the paper's coupling. Of more
    than `couplings` words only that many read the source; with one, it is an encoder-decoder. Without a source there is
    nothing but y_i.
    """

    def __init__(
        self,
        word_dim: int,
        dim: int,
        source_dim: int | None,
        sockets: Sockets,
        *,
        merge: Merge = "add",
        couplings: int | None = None,
    ) -> None:
        super().__init__()
        self.word_dim, self.couplings = word_dim, couplings
        self.attention = None if source_dim is None else sockets.cross(word_dim, source_dim)
        width = 0 if self.attention is None or source_dim is None else self.attention.context_dim(source_dim)
        self.adds = merge == "add"
        read = word_dim if self.adds else word_dim + width
        self.enter = nn.Identity() if read == dim else Linear(read, dim)
        self.from_context = nn.Identity() if not self.adds or width in (0, dim) else Linear(width, dim, bias=False)

    def readings(self, seen: Encoded | None) -> list[Reading]:
        """The source before the first word; none where it is not read."""
        if seen is None or self.attention is None:
            return []
        return [begin(self.attention, self.word_dim, seen.states, seen.read, seen.mask)]

    def forward(
        self, words: Tensor, written: int, source: Reading | None, *, need_weights: bool
    ) -> tuple[Tensor, Attended | None]:
        """words (rows, n, word_dim), `written` before → inputs of the stack (rows, n, dim), what was seen."""
        if self.attention is None or source is None:
            return self.enter(words), None
        seen = read_source(self.attention, words, source, need_weights=need_weights)
        context = seen.context
        if self.couplings is not None:
            places = torch.arange(written, written + words.shape[1], device=words.device)
            far = (places >= self.couplings).unsqueeze(-1)
            context = context.masked_fill(far, 0.0)
            weights = None if seen.weights is None else seen.weights.masked_fill(far, 0.0)
            seen = seen._replace(weights=weights)
        if not self.adds:
            return self.enter(torch.cat([words, context], dim=-1)), seen
        return self.enter(words) + self.from_context(context), seen


class CoupledDecoder(Decoder):
    """states = ReLU(W stack(coupling(words))): a stack of any layers over words that were coupled with the source.

    The base of rows that differ in nothing but this stack, and none itself. `masked`: layers of the stack attend to
    other rows, so in training they read which of them are padding. Others do without, since they write nothing at a
    word that a later place could change.
    """

    def __init__(
        self, embedder: Embedder, coupling: Coupling, stack: Layer, *, dropout: float = 0.1, masked: bool = False
    ) -> None:
        super().__init__()
        self.embedder, self.dim = embedder, embedder.dim
        self.coupling, self.stack = coupling, stack
        self.to_state, self.dropout, self.masked = Linear(stack.dim, self.dim), Dropout(dropout), masked

    def begin(self, seen: Encoded | None, rows: int) -> DecoderState:
        return DecoderState(CoupledPast(), shared(self.coupling.readings(seen)))

    def advance(
        self, vectors: Tensor, mask: Tensor | None, state: DecoderState, need_weights: bool
    ) -> tuple[Decoded, DecoderState]:
        past: CoupledPast = state.layers
        inputs, seen = self.coupling(vectors, past.written, state.source.reading(0), need_weights=need_weights)
        states, after = self.stack(inputs, mask, past.stack)
        outputs = self.dropout(functional.relu(self.to_state(states)))
        layers = CoupledPast(after, past.written + vectors.shape[1])
        weights = None if seen is None else seen.weights
        return Decoded(outputs, weights), state._replace(layers=layers, source=state.source.after([seen]))
