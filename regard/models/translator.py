"""Sequence to sequence: encoders, decoders and heads joined by named routes."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from torch import Tensor, nn

from regard.attention import WEIGHTINGS, name_columns
from regard.config import Doc, OneOrMany
from regard.data.columns import Columns, of_language, own_name
from regard.decoders import DECODERS
from regard.decoders.decoder import Decoder
from regard.encoders import ENCODERS
from regard.encoders.encoder import Encoder
from regard.errors import ConfigError, PartError, nearest
from regard.heads import HEADS
from regard.heads.head import Head
from regard.layers.embedders.embedder import Embedder
from regard.models.build import build_embedder, build_sockets, initialise_uniform
from regard.models.model import ROUTE, Distributions, Generator
from regard.models.settings import AttentionSettings, InitUniform, TranslatorSettings
from regard.ops.kernels.search import CompiledWriter
from regard.ops.modules import module_dict
from regard.records import BOS, EOS, Batch, Decoded, Encoded, Sequences, State, Step, select
from regard.registry import Choice

Languages = Annotated[tuple[str, ...], OneOrMany(), Doc("Codes of the target languages, as in data.languages.")]


class Route(NamedTuple):
    """Names of the parts that take a batch from source to target."""

    encoder: str
    decoder: str
    head: str


class Writing(NamedTuple):
    """A translator's state between steps."""

    decoder: Any
    encoded: Encoded | None  # one row per generated row, for a head that reads the source
    route: str
    mask: Tensor  # (rows, source) of the ids: an encoder may have unfolded to more places

    def select(self, rows: Tensor) -> "Writing":
        """Select rows of the decoder's state, of the head's input and of the source's mask."""
        encoded, mask = select((self.encoded, self.mask), rows)
        return self._replace(decoder=self.decoder.select(rows), encoded=encoded, mask=mask)


class EmbeddedEncoder(nn.Module):
    """An embedder and an encoder; `language` (dim,), if any, is added to the end symbols of the source."""

    def __init__(self, embedder: Embedder, encoder: Encoder, language: nn.Parameter | None = None) -> None:
        super().__init__()
        self.embedder, self.encoder, self.language = embedder, encoder, language

    def forward(self, source: Sequences) -> Encoded:
        """Return the encoder's states of ids (batch, source), with the ids for heads that copy."""
        vectors, _ = self.embedder(source.items)
        if self.language is not None:
            vectors = vectors + self.language * (source.items == EOS).unsqueeze(-1)
        encoded: Encoded = self.encoder(Sequences(vectors, source.mask))
        return encoded._replace(ids=source.items)


class Translator(Generator):
    """p(target | source), left to right. Parts may be shared between routes (one-to-many, back-translation)."""

    def __init__(
        self,
        encoders: Mapping[str, EmbeddedEncoder],
        decoders: Mapping[str, Decoder],
        heads: Mapping[str, Head],
        routes: Mapping[str, Route],
    ) -> None:
        super().__init__()
        self.encoders = module_dict(encoders)
        self.decoders = module_dict(decoders)
        self.heads = module_dict(heads)
        self.routes = dict(routes)
        for encoder in encoders.values():
            name_columns(encoder, "source")
        for decoder in decoders.values():
            name_columns(decoder, "target", read="source")

    @property
    def languages(self) -> tuple[str, ...]:
        """Routes that are named after a language."""
        return tuple(name for name in self.routes if name != ROUTE)

    @property
    def own_languages(self) -> tuple[str, ...]:
        """Routes with a decoder of their own."""
        first, *others = self.languages or (ROUTE,)
        return tuple(name for name in others if self.routes[name].decoder != self.routes[first].decoder)

    def route(self, language: str | None) -> str:
        if not self.languages or language in self.languages:
            return language if language in self.languages else ROUTE
        if language is None:
            raise ConfigError("data.languages", "the target language is not given", "data.languages=[en,de]")
        problem = f"'{language}' is not a target language of this model; it has {', '.join(self.languages)}"
        raise ConfigError("model.languages", problem, nearest(language, self.languages))

    def along(self, route: str) -> Sequence[nn.Module]:
        encoder, decoder, head = self.routes[route]
        return [self.encoders[encoder], self.decoders[decoder], self.heads[head]]

    def encode(self, batch: Batch) -> Encoded:
        """Return the states of the batch's source by its route's encoder."""
        encoded: Encoded = self.encoders[self.routes[batch.route].encoder](batch.sequences("source"))
        return encoded

    def decode(self, batch: Batch, *, need_weights: bool = False) -> tuple[Decoded, Encoded]:
        """Return states (batch, target, dim) with teacher forcing: each has read the words before it."""
        route, encoded = self.routes[batch.route], self.encode(batch)
        decoder, target = self.decoders[route.decoder], batch.sequences("target")
        need_weights = need_weights or self.heads[route.head].needs_weights
        read = Sequences(shifted(target.items), target.mask)
        decoded = decoder.forced(read, decoder.start(encoded), need_weights=need_weights)
        return _within(decoded, batch.sequences("source").mask), encoded

    def reads(self, batch: Batch) -> list[tuple[Embedder, Tensor]]:
        route = self.routes[batch.route]
        return [
            (self.encoders[route.encoder].embedder, batch.sequences("source").items),
            (self.decoders[route.decoder].embedder, shifted(batch.sequences("target").items)),
        ]

    def parts(self) -> Mapping[str, Sequence[nn.Module]]:
        source = [reader.embedder for reader in self.encoders.values()]
        target = [decoder.embedder for decoder in self.decoders.values()]
        inner = {name: found for decoder in self.decoders.values() for name, found in decoder.parts().items()}
        return {
            "embedder": [*source, *target],
            "encoder": [reader.encoder for reader in self.encoders.values()],
            "decoder": [*self.decoders.values()],
            "head": [*self.heads.values()],
            "source_embedder": source,
            "target_embedder": target,
            **inner,
        }

    def counted(self, batch: Batch) -> Tensor:
        return batch.sequences("target").mask

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        return self.nll_with_states(batch, smoothing=smoothing)[0]

    def nll_with_states(self, batch: Batch, *, smoothing: float = 0.0) -> tuple[Tensor, Encoded]:
        """Return the losses of `nll`, and the encoder's states of the same pass."""
        decoded, encoded = self.decode(batch)
        head = self.heads[self.routes[batch.route].head]
        losses: Tensor = head.nll(decoded, encoded, batch.sequences("target").items, smoothing=smoothing)
        return losses, encoded

    def distributions(self, batch: Batch) -> Distributions:
        decoded, encoded = self.decode(batch)
        target = batch.sequences("target")
        scores: Tensor = self.heads[self.routes[batch.route].head].scores(decoded, encoded, target.mask)
        return Distributions(scores, target.items[target.mask])

    @property
    def max_source(self) -> int | None:
        known = [reader.embedder.max_length for reader in self.encoders.values()]
        return min((one for one in known if one is not None), default=None)

    def longest(self, batch: Batch) -> int | None:
        """Return the maximum ids of a target: one place is kept, so that a truncated one can be read with its end."""
        most = self.decoders[self.routes[batch.route].decoder].embedder.max_length
        return None if most is None else most - 1

    def start(self, batch: Batch) -> Writing:
        route, encoded = self.routes[batch.route], self.encode(batch)
        kept = encoded if self.heads[route.head].reads_source else None
        return Writing(self.decoders[route.decoder].start(encoded), kept, batch.route, batch.sequences("source").mask)

    def step(self, ids: Tensor, state: Writing, *, need_weights: bool = False) -> tuple[Step, State]:
        decoded, after = self._read(ids, state, need_weights)
        log_probs = self._head(state).log_probs(decoded, state.encoded)[:, -1]
        weights = None if decoded.weights is None else decoded.weights[:, -1]
        return Step(log_probs, weights, decoded.states[:, -1]), after

    def best(
        self, ids: Tensor, state: Writing, count: int, forbidden: Sequence[int] = (), included: Sequence[int] = ()
    ) -> tuple[Tensor, Tensor, State]:
        decoded, after = self._read(ids, state)
        return *self._head(state).best(decoded, state.encoded, count, forbidden, included), after

    def compiled_writer(self, ids: Tensor, state: Writing, steps: int) -> CompiledWriter | None:
        """Return the decoder and the head of the route, where both are fully compiled."""
        table, decoder = self._head(state).packed(), self.decoders[self.routes[state.route].decoder]
        return None if table is None else decoder.compiled_writer(ids, state.decoder, table, steps)

    def _head(self, state: Writing) -> Head:
        return self.heads[self.routes[state.route].head]

    def _read(self, ids: Tensor, state: Writing, need_weights: bool = False) -> tuple[Decoded, Writing]:
        """Return the states after reading ids (rows, 1)."""
        decoder, need_weights = self.routes[state.route].decoder, need_weights or self._head(state).needs_weights
        decoded, after = self.decoders[decoder](ids, state.decoder, need_weights=need_weights)
        return _within(decoded, state.mask), state._replace(decoder=after)


def translator(columns: Columns, *, shared: TranslatorSettings, init_uniform: InitUniform = None) -> Translator:
    """p(target | source): an encoder, a decoder, and its `attention` over the source; one route.

    `position` null: none, for recurrent networks. `dropout` applies to all parts without one of their own.
    """
    return initialise_uniform(build_routes(columns, shared, [ROUTE]), init_uniform)


def build_routes(columns: Columns, shared: TranslatorSettings, names: Sequence[str]) -> Translator:
    """Build one encoder, and per name a route with its own decoder and head; `ROUTE` is the first one as well.

    A decoder has its language's vocabulary, where `columns` have one, with its own embeddings. Other embeddings are
    shared by all with `tied` all, and per decoder with `tied` target.
    """
    source, target = columns["source"], columns["target"]
    one_vocabulary = source is target or source.has_ids_of(target)
    if shared.tied == "all" and not one_vocabulary:
        raise PartError(
            "'all' needs one vocabulary for both sides", "text.shared=true or model.tied=target", setting="tied"
        )
    sockets = build_sockets(shared.attention, shared.self_attention)
    sizes = {name: len(of_language(columns, name)["target"]) for name in names}

    def embedder(size: int) -> Embedder:
        return build_embedder(shared.embedder, shared.position, size, shared.dim, shared.dropout)

    writes = embedder(sizes[names[0]])
    reads = writes if shared.tied == "all" else embedder(len(columns["source"]))
    encodes = ENCODERS.build(shared.encoder, reads.dim, sockets, given={"dropout": shared.dropout})
    decoders, heads = dict[str, Decoder](), dict[str, Head]()
    for name in names:
        own = own_name("target", name) in columns
        if decoders:
            writes = reads if shared.tied == "all" and not own else embedder(sizes[name])
        decodes = DECODERS.build(shared.decoder, writes, encodes.dim, sockets, given={"dropout": shared.dropout})
        table = None if shared.tied == "none" else writes.output_weight()
        decoders[name] = decodes
        heads[name] = chooses = HEADS.build(shared.head, decodes.dim, sizes[name], table)
        if chooses.copies and (own or not one_vocabulary):
            raise PartError(f"'{shared.head.name}' needs one vocabulary", "text.shared=true", setting="head")
        if chooses.needs_weights:
            _need_shares(shared.attention, shared.head)
    routes = {name: Route(ROUTE, name, name) for name in names}
    routes = {ROUTE: routes[names[0]], **routes}
    return Translator({ROUTE: EmbeddedEncoder(reads, encodes)}, decoders, heads, routes)


def check_codes(languages: Sequence[str]) -> None:
    """Raise PartError for no language, a repeated one, and one that cannot name a part."""
    if not languages or len({*languages}) < len(languages):
        raise PartError("names no language, or repeats one", "languages: [de, fr]", setting="languages")
    if bad := [one for one in languages if not one.replace("-", "").isalnum() or one == ROUTE]:
        raise PartError(f"'{bad[0]}' is not a language code", "de, fr, zh-Hans", setting="languages")


def _need_shares(attention: AttentionSettings, head: Choice) -> None:
    """Raise PartError where a head uses weights as probabilities and they may be negative."""
    weighting: Any = WEIGHTINGS[attention.weighting.name]
    if weighting.signed:
        problem = (
            f"weights by '{attention.weighting.name}' may be negative, and '{head.name}' uses them as probabilities"
        )
        hint = "model.attention.weighting=softmax or sigmoid, or model.head=linear"
        raise PartError(problem, hint, setting="attention.weighting")


def shifted(target: Tensor) -> Tensor:
    """Return the decoder's input for target ids (batch, n): BOS first, without the last."""
    read = target.roll(1, dims=-1)
    read[..., 0] = BOS
    return read


def _within(decoded: Decoded, mask: Tensor) -> Decoded:
    """Set weights (rows, n, source) to 0 outside the mask (rows, source): places there have no word."""
    if decoded.weights is None:
        return decoded
    weights = decoded.weights[..., : mask.shape[1]].masked_fill(~mask.unsqueeze(1), 0.0)
    return decoded._replace(weights=weights)
