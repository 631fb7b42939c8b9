"""Recurrent decoders: of https://arxiv.org/abs/1409.0473, https://arxiv.org/abs/1508.04025 and https://arxiv.org/abs/1406.1078."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from regard.aliases import alias
from regard.attention import Attended, Attention, Memory, Sockets, extend
from regard.config import Doc
from regard.config.bounds import Size
from regard.config.common_settings import DropoutProbability, NumLayers
from regard.decoders.decoder import Decoder, DecoderState
from regard.errors import ConfigError, PartError
from regard.layers.embedders.embedder import Embedder
from regard.layers.recurrent import RECURRENT, Cell, Past, ResidualFrom, Stack, note_no_residual
from regard.layers.shared_source import begin, read_source, shared
from regard.ops.dropout import Dropout
from regard.records import Decoded, Encoded
from regard.registry import Choice


class IntraPast(NamedTuple):
    """Words written so far, as the attention reads them."""

    last: Tensor  # (rows, dim): the latest state, which the next query is the first to see
    memory: Memory | None = None  # the states before it
    attention: Any = None  # past of the attention
    written: int = 0  # how many states there were


class IntraAttention(nn.Module):
    """c_t = attention(s_t) over s_1 … s_(t-1), and 0 at the first step (equations 6 to 8).

    The attention is causal. Key t is the state before t, and the first one, which there is not, is hidden: so no state
    sees itself.
    """

    def __init__(self, attention: Attention, dim: int) -> None:
        """The attention looks from states of this width at states of this width."""
        super().__init__()
        self.attention, self.context_dim = attention, attention.context_dim(dim)

    def nothing(self, last: Tensor) -> IntraPast:
        """The past before the first state; zeros (rows, dim) stand for the state before it."""
        return IntraPast(last)

    def forward(self, states: Tensor, past: IntraPast) -> tuple[Tensor, IntraPast]:
        """states (rows, n, dim) → contexts (rows, n, context_dim) and the past after them."""
        count = states.shape[1]
        before = torch.cat([past.last.unsqueeze(1), states], dim=1)
        places = torch.arange(past.written, past.written + count, device=states.device)
        mask = (places > 0).expand(states.shape[0], -1)
        memory = extend(past.memory, self.attention.remember(before[:, :-1], mask=mask))
        seen = self.attention(states, memory, past.attention)
        return seen.context, IntraPast(before[:, -1], memory, seen.past, past.written + count)


class RecurrentPast(NamedTuple):
    """State of the layers for the rows being written."""

    stack: tuple[Past, ...]
    fed: Tensor  # (rows, dim): the state written last, for input feeding
    fixed: Tensor  # (rows, fixed_dim): what every step reads without attention
    intra: IntraPast | None = None  # its own earlier states, where it attends to them


class RecurrentDecoder(Decoder):
    """order "bahdanau": c_i = attention(s_(i-1)), s_i = f(s_(i-1), [y; c_i]), state = readout [s_i; y; c_i] (equation
    4 of the paper; its appendix reads s_(i-1) out instead).

    order "luong": s_i = f(s_(i-1), y), c_i = attention(s_i), state = readout [c_i; s_i], which `input_feeding` puts
    beside the next y. order "gnmt" (https://arxiv.org/abs/1609.08144): c_i = attention(lowest s_(i-1)), every layer
    reads [what is below; c_i], state = readout of the highest. Layers from number `residual_from` on add what is below.
    source_context "final": c is the encoder's last state at every step: no attention; "summary": c = tanh(V final);
    "start": no c, s_0 is all that is known of the source (https://arxiv.org/abs/1409.3215). The readout is a layer of
    tanh, maxout or nothing more (linear), as wide as the embedding. s_0 = tanh(W final), of both directions where the
    encoder has two, or W c for a summary, or the encoder's own with `init_from_encoder`: a layer of two directions of
    the decoder's width starts two layers, by its forward and by its backward state
    (https://github.com/tensorflow/nmt). With `zero_state`, and without a source, s_0 = 0; without one there is no c.
    With `intra_attention` the readout also reads what s_i sees of s_1 … s_(i-1), by `model.self_attention`
    (https://arxiv.org/abs/1705.04304, section 2.2).
    """

    aliases = (
        "recurrent_neural_network, 循环神经网络, rnnsearch, seq2seq",
        alias("bahdanau", {"order": "bahdanau"}),
        alias("cho", {"source_context": "summary"}),
        alias("gnmt", {"order": "gnmt"}),
        alias("input_feeding", {"input_feeding": True}),
        alias("intra_decoder", {"order": "luong", "intra_attention": True}),
        alias("luong", {"order": "luong"}),
        alias("sutskever", {"source_context": "start"}),
    )
    of_source = ("source_context", "init_from_encoder", "zero_state")

    def __init__(  # noqa: PLR0913  a setting each
        self,
        embedder: Embedder,
        source_dim: int | None,
        sockets: Sockets,
        *,
        order: Annotated[
            Literal["bahdanau", "luong", "gnmt"],
            Doc("Order of a step: bahdanau attends first, luong afterwards, gnmt with its lowest layer."),
        ] = "bahdanau",
        input_feeding: Annotated[bool, Doc("Input feeding: read the last readout, too (order luong).")] = False,
        source_context: Annotated[
            Literal["states", "final", "summary", "start"],
            Doc("Source context: attention, final state or summary at each step, or initialisation only."),
        ] = "states",
        cell: Cell = Choice("gru"),
        hidden_dim: Annotated[Size, Doc("Width of the hidden state.")] = 256,
        num_layers: NumLayers = 1,
        residual_from: ResidualFrom = None,
        init_from_encoder: Annotated[bool, Doc("Initialise each layer from the encoder's same layer.")] = False,
        zero_state: Annotated[bool, Doc("Start from a zero state, not from one made of the source.")] = False,
        readout: Annotated[Literal["tanh", "maxout", "linear"], Doc("Readout layer before the head.")] = "tanh",
        readout_bias: Annotated[bool, Doc("Add a bias in the readout layer.")] = True,
        intra_attention: Annotated[bool, Doc("Self-attention over the decoder's past states.")] = False,
        dropout: DropoutProbability = 0.1,
    ) -> None:
        super().__init__()
        self.embedder, self.dim, self.dropout = embedder, embedder.dim, Dropout(dropout)
        self.order, self.feeds, self.readout = order, input_feeding, readout
        alone, width = source_dim is None, source_dim or 0
        self.attention = sockets.cross(hidden_dim, width) if source_context == "states" and not alone else None
        self.to_summary = nn.Linear(width, hidden_dim) if source_context == "summary" and not alone else None
        given_dim = width if self.to_summary is None else hidden_dim
        self.fixed_dim = given_dim if source_context in ("final", "summary") else 0  # of a vector that every step reads
        context_dim = self.fixed_dim if self.attention is None else self.attention.context_dim(width)
        first = self.dim + (self.dim if input_feeding else 0) + (context_dim if order == "bahdanau" else 0)
        beside = context_dim if order == "gnmt" else 0
        widths = [(hidden_dim if number else first) + beside for number in range(num_layers)]
        layers = [RECURRENT.build(cell, width, hidden_dim, place="cell") for width in widths]
        note_no_residual(num_layers, residual_from)
        self.stack = Stack(layers, dropout=dropout, residual_from=residual_from)
        self.zero_state = _from_zero(zero_state, init_from_encoder, source_context)
        self.starts = (
            None if init_from_encoder or alone or zero_state else nn.Linear(given_dim, hidden_dim * num_layers)
        )
        self.intra = IntraAttention(sockets.causal(hidden_dim), hidden_dim) if intra_attention else None
        read_dim = hidden_dim + {"bahdanau": context_dim + self.dim, "luong": context_dim, "gnmt": 0}[order]
        read_dim += 0 if self.intra is None else self.intra.context_dim
        self.to_state = nn.Linear(read_dim, self.dim * (2 if readout == "maxout" else 1), bias=readout_bias)

    def begin(self, seen: Encoded | None, rows: int) -> DecoderState:
        if seen is None:
            nothing = self.to_state.weight.new_zeros(rows, self.dim)
            layers = tuple(layer.nothing(nothing) for layer in self.stack.layers)
            return DecoderState(RecurrentPast(layers, nothing, nothing[:, :0], self._nothing_own(nothing)))
        final = seen.final if self.to_summary is None else torch.tanh(self.to_summary(seen.final))
        first = self._first(seen, final)
        fed, fixed = final.new_zeros(final.shape[0], self.dim), final[:, : self.fixed_dim]
        past = RecurrentPast(first, fed, fixed, self._nothing_own(final))
        if self.attention is None:
            return DecoderState(past)
        query_dim = first[-1][0].shape[-1]
        return DecoderState(past, shared([begin(self.attention, query_dim, seen.states, seen.read, seen.mask)]))

    def advance(
        self, vectors: Tensor, mask: Tensor | None, state: DecoderState, need_weights: bool
    ) -> tuple[Decoded, DecoderState]:
        if not self.feeds and (self.order == "luong" or self.attention is None):
            return self._together(vectors, state, need_weights)  # no step needs the one before
        steps = []
        for vector in vectors.split(1, dim=1):
            decoded, state = self._together(vector, state, need_weights)
            steps.append(decoded)
        weights = [step.weights for step in steps if step.weights is not None]
        joined = torch.cat([step.states for step in steps], dim=1) if steps else vectors
        return Decoded(joined, torch.cat(weights, dim=1) if weights else None), state

    def _together(self, vectors: Tensor, state: DecoderState, need_weights: bool) -> tuple[Decoded, DecoderState]:
        past: RecurrentPast = state.layers
        inputs = [vectors, past.fed.unsqueeze(1).expand(-1, vectors.shape[1], -1)] if self.feeds else [vectors]
        if self.order == "luong":
            outputs, layers = self.stack(torch.cat(inputs, dim=-1), None, past.stack)
            seen = self._read(outputs, state, need_weights)
            read = [seen.context, outputs]
        else:
            asking = past.stack[0 if self.order == "gnmt" else -1][0].unsqueeze(1).expand(-1, vectors.shape[1], -1)
            seen = self._read(asking, state, need_weights)  # of one word, or without attention
            context = seen.context
            inputs, beside = ([*inputs, context], None) if self.order == "bahdanau" else (inputs, context)
            outputs, layers = self.stack(torch.cat(inputs, dim=-1), None, past.stack, beside)
            read = [outputs, vectors, context] if self.order == "bahdanau" else [outputs]
        intra = past.intra
        if self.intra is not None and intra is not None:
            own, intra = self.intra(outputs, intra)
            read.append(own)
        states = self._written(torch.cat(read, dim=-1))
        fed = states[:, -1] if states.shape[1] else past.fed
        source = state.source.after([seen])
        after = state._replace(layers=RecurrentPast(layers, fed, past.fixed, intra), source=source)
        return Decoded(self.dropout(states), seen.weights), after

    def _nothing_own(self, like: Tensor) -> IntraPast | None:
        """No state of its own yet."""
        return None if self.intra is None else self.intra.nothing(like.new_zeros(like.shape[0], self.stack.dim))

    def _written(self, read: Tensor) -> Tensor:
        states: Tensor = self.to_state(read)
        if self.readout == "maxout":
            return states.unflatten(-1, (-1, 2)).amax(dim=-1)
        return torch.tanh(states) if self.readout == "tanh" else states

    def _read(self, queries: Tensor, state: DecoderState, need_weights: bool) -> Attended:
        """queries (rows, n, hidden_dim) → contexts (rows, n, context_dim), weights if asked for, past."""
        reading = state.source.reading(0)
        if self.attention is None or reading is None:
            return Attended(state.layers.fixed.unsqueeze(1).expand(-1, queries.shape[1], -1))
        return read_source(self.attention, queries, reading, need_weights=need_weights)

    def _first(self, seen: Encoded, final: Tensor) -> tuple[Past, ...]:
        """The past of each layer before the first word."""
        nothing = tuple(layer.nothing(final) for layer in self.stack.layers)
        if self.zero_state:
            return nothing
        if self.starts is not None:
            states = torch.tanh(self.starts(final)).chunk(len(self.stack.layers), dim=-1)
            return tuple(layer.begun(state) for layer, state in zip(self.stack.layers, states, strict=True))
        wanted = _shapes(nothing)
        for given in (seen.past or (), _directions(seen.past or ())):
            if _shapes(given) == wanted:
                return tuple(given)
        problem = "the encoder's states are not as many and as wide as the decoder's"
        hint = "give both the same cell, num_layers and width (lstmn has ever more states), or leave it out"
        raise ConfigError("model.decoder.init_from_encoder", problem, hint)


def _directions(pasts: Sequence[Past]) -> tuple[Past, ...]:
    """The past of each layer of two directions → that of the one and that of the other."""
    return tuple(half for past in pasts for half in zip(*(one.chunk(2, dim=-1) for one in past), strict=False))


def _from_zero(zero_state: bool, init_from_encoder: bool, source_context: str) -> bool:
    """Return `zero_state`. Raises PartError beside a setting that asks for another first state."""
    if zero_state and (init_from_encoder or source_context == "start"):
        problem = "a zero state is not made of the source, as init_from_encoder and source_context start ask for"
        raise PartError(problem, "choose one of them", setting="zero_state")
    return zero_state


def _shapes(pasts: Sequence[Past]) -> list[list[torch.Size]]:
    return [[one.shape for one in past] for past in pasts]
