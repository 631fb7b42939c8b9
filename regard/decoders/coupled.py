"""Decoders that read the source beside their words, place by place: https://arxiv.org/abs/1610.10099, section 3.1."""

from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention import Sockets
from regard.decoders.decoder import Decoder
from regard.errors import ConfigError
from regard.layers.embedders.embedder import Embedder
from regard.layers.layer import Layer
from regard.layers.shared_source import SharedSource, has_past, look
from regard.ops.dropout import Dropout
from regard.ops.linear import Linear
from regard.records import Decoded, Encoded, Sequences, select

Merge = Literal["add", "concatenate"]


class CoupledState(NamedTuple):
    """What is remembered of the rows being written."""

    words: Any  # past of the embedder
    layers: Any  # past of the stack
    looked: Any  # past of the coupling
    written: int  # how many words
    source: SharedSource

    def select(self, rows: Tensor) -> "CoupledState":
        """Rows in that order."""
        source = self.source.select(rows, together=not has_past(self.looked))
        kept: CoupledState = select(self._replace(source=SharedSource(())), rows)
        return kept._replace(source=source)


class Coupling(nn.Module):
    """x_i = y_i + W c_i or W [y_i; c_i], y_i the word before the i-th, c_i what its query y_i sees of the source.

    With the span `same_position` c_i is the source's i-th state and zero behind its end: the paper's coupling. Of more
    than `couplings` words only so many read the source; with one, it is an encoder-decoder. Without a source there is
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
        if couplings is not None and couplings < 0:
            raise ConfigError("model.decoder.couplings", f"is {couplings}", "0 or more words, or null for all")
        self.word_dim, self.couplings = word_dim, couplings
        self.attention = None if source_dim is None else sockets.cross(word_dim, source_dim)
        width = 0 if self.attention is None or source_dim is None else self.attention.context_dim(source_dim)
        self.adds = merge == "add"
        read = word_dim if self.adds else word_dim + width
        self.enter = nn.Identity() if read == dim else Linear(read, dim)
        self.from_context = nn.Identity() if not self.adds or width in (0, dim) else Linear(width, dim, bias=False)

    def start(self, seen: Encoded) -> tuple[SharedSource, Any]:
        """The source's memory, and the past before the first word."""
        if self.attention is None:
            return SharedSource(()), None
        memory = self.attention.remember(seen.states, seen.read, mask=seen.mask)
        nothing = seen.states.new_zeros(len(seen.states), 0, self.word_dim)
        return SharedSource((memory,)), self.attention.begin(nothing, memory)

    def forward(self, words: Tensor, state: CoupledState, *, need_weights: bool) -> tuple[Tensor, Tensor | None, Any]:
        """words (rows, n, word_dim) → inputs of the stack (rows, n, dim), weights if asked for, past."""
        if self.attention is None:
            return self.enter(words), None, None
        (memory,), fold = state.source.memories, state.source.fold
        seen = look(self.attention, words, memory, state.looked, fold=fold, need_weights=need_weights)
        context, weights = seen.context, seen.weights
        if self.couplings is not None:
            places = torch.arange(state.written, state.written + words.shape[1], device=words.device)
            far = (places >= self.couplings).unsqueeze(-1)
            context = context.masked_fill(far, 0.0)
            weights = None if weights is None else weights.masked_fill(far, 0.0)
        if not self.adds:
            return self.enter(torch.cat([words, context], dim=-1)), weights, seen.past
        return self.enter(words) + self.from_context(context), weights, seen.past


class CoupledDecoder(Decoder):
    """states = ReLU(W stack(coupling(words))): a stack of any layers over words that were coupled with the source.

    The base of rows that differ in nothing but this stack, and none itself. `masked`: layers of the stack look at other
    rows, so in training they are told what of them is padding. Others do without, since they write nothing at a word
    that a later place could change.
    """

    def __init__(
        self, embedder: Embedder, coupling: Coupling, stack: Layer, *, dropout: float = 0.1, masked: bool = False
    ) -> None:
        super().__init__()
        self.embedder, self.dim = embedder, embedder.dim
        self.coupling, self.stack = coupling, stack
        self.to_state, self.dropout, self.masked = Linear(stack.dim, self.dim), Dropout(dropout), masked

    def start(self, *encoded: Encoded, rows: Tensor | None = None) -> CoupledState:
        """The source's keys are computed here, once per sentence. Without a source nothing is known of the rows yet."""
        source, looked = self.coupling.start(encoded[0]) if encoded else (SharedSource(()), None)
        state = CoupledState(None, None, looked, 0, source)
        return state if rows is None or not encoded else state.select(rows)

    def forced(self, read: Sequences, state: CoupledState, *, need_weights: bool = False) -> Decoded:
        """In training under the mask, if the stack is to know it."""
        mask = read.mask if self.masked and self.training else None
        decoded: Decoded = self(read.items, state, mask=mask, need_weights=need_weights)[0]
        return decoded

    def forward(
        self, ids: Tensor, state: CoupledState, *, mask: Tensor | None = None, need_weights: bool = False
    ) -> tuple[Decoded, CoupledState]:
        """ids (rows, n), mask (rows, n) of the words, or None for all → states (rows, n, dim)."""
        vectors, words = self.embedder(ids, state.words)
        if ids.shape[-1] != 1:
            state = state._replace(source=state.source.unfolded())
        inputs, weights, looked = self.coupling(vectors, state, need_weights=need_weights)
        states, layers = self.stack(inputs, mask, state.layers)
        outputs = self.dropout(functional.relu(self.to_state(states)))
        written = state.written + ids.shape[-1]
        return Decoded(outputs, weights), CoupledState(words, layers, looked, written, state.source)
