"""The only file that turns names into modules. Parts receive ready parts and never see a config."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn

from regard.attention import SCORES, SPANS, WEIGHTINGS, Attention, Heads, Part, Sockets
from regard.attention.spans.all_of import AllOf
from regard.decoders import DECODERS
from regard.encoders import ENCODERS
from regard.errors import ConfigError, RegardError
from regard.heads import HEADS
from regard.layers.embedders import EMBEDDERS, Embedder
from regard.layers.positions import POSITIONS
from regard.models.language_model import LanguageModel
from regard.models.settings import AttentionSettings, ModelSettings
from regard.models.translator import Reader, Route, Translator
from regard.registry import Choice, Registry

_PART = re.compile(r"^attention(?=\.|$)")  # as parts name their socket
ROUTE = "translate"  # the name of the only route of a model of one source and one target language


def build_translator(settings: ModelSettings, source_size: int, target_size: int) -> Translator:
    """A model for vocabularies of these sizes; with `tied: all` they must be one vocabulary."""
    sockets = _sockets(settings)
    target_embedder = _embedder(settings, target_size)
    source_embedder = target_embedder if settings.tied == "all" else _embedder(settings, source_size)
    encoder = ENCODERS.build(_with_dropout(ENCODERS, settings.encoder, settings), source_embedder.dim, sockets)
    choice = _with_dropout(DECODERS, settings.decoder, settings)
    decoder = DECODERS.build(choice, target_embedder, encoder.dim, sockets)
    weight = None if settings.tied == "none" else target_embedder.output_weight()
    head = HEADS.build(settings.head, decoder.dim, target_size, weight)
    if head.needs_weights:
        _need_shares(settings)
    return Translator(
        {ROUTE: Reader(source_embedder, encoder)}, {ROUTE: decoder}, {ROUTE: head}, {ROUTE: Route(ROUTE, ROUTE, ROUTE)}
    )


def build_language_model(settings: ModelSettings, size: int) -> LanguageModel:
    """A model for a vocabulary of this size. It has no encoder, and no attention but the decoder's to itself."""
    embedder = _embedder(settings, size)
    decoder = DECODERS.build(_with_dropout(DECODERS, settings.decoder, settings), embedder, None, _sockets(settings))
    weight = None if settings.tied == "none" else embedder.output_weight()
    return LanguageModel(decoder, HEADS.build(settings.head, decoder.dim, size, weight))


def most_places(settings: ModelSettings) -> int | None:
    """How many places a model's positions know; None: any number, or it is no model."""
    try:
        with torch.device("meta"):
            return _embedder(settings, 4).max_length
    except (RegardError, RuntimeError):  # told where the model is built in earnest
        return None


def unused_sockets(settings: ModelSettings) -> list[str]:
    """Which of a model's settings of attention neither its encoder nor its decoder asks for; none where it is no model.

    The model is built without numbers, so it costs next to nothing.
    """
    asked: set[str] = set()

    def noting(place: str, make: Callable[..., Attention]) -> Callable[..., Attention]:
        def made(*dims: int) -> Attention:
            asked.add(place)
            return make(*dims)

        return made

    cross, itself, causal = _sockets(settings)
    sockets = Sockets(noting("attention", cross), noting("self_attention", itself), noting("self_attention", causal))
    try:
        with torch.device("meta"):
            embedder = _embedder(settings, 4)
            encoder = ENCODERS.build(_with_dropout(ENCODERS, settings.encoder, settings), embedder.dim, sockets)
            choice = _with_dropout(DECODERS, settings.decoder, settings)
            DECODERS.build(choice, embedder, encoder.dim, sockets)
    except (RegardError, RuntimeError):  # told where the model is built in earnest
        return []
    return [place for place in ("attention", "self_attention") if place not in asked]


def build_attention(
    settings: AttentionSettings, query_dim: int, key_dim: int, *, causal: bool = False, place: str = "attention"
) -> Attention:
    """One socket, filled. With heads, score, span and weighting live in the heads' width.

    Raises ConfigError where several heads are to do without projections, `causal` meets a part that must know every key
    from the start, or a part refuses its settings; `place` is where a config says them.
    """
    try:
        return _filled(settings, query_dim, key_dim, causal)
    except ConfigError as error:  # a part knows its key, but not whose it is
        faults = (fault._replace(place=_PART.sub(place, fault.place)) for fault in error.faults)
        raise ConfigError.of(faults) from error


def _filled(settings: AttentionSettings, query_dim: int, key_dim: int, causal: bool) -> Attention:
    if settings.num_heads > 1 and settings.project is False:
        problem = f"{settings.num_heads} heads are made by projections"
        raise ConfigError("attention.project", problem, "leave it out, or use num_heads: 1")
    gate = nn.Linear(query_dim, 1) if settings.gate else None
    heads = None
    if settings.project or settings.num_heads > 1:
        heads = Heads(query_dim, key_dim, num_heads=settings.num_heads, bias=settings.bias, out_proj=settings.out_proj)
        query_dim = key_dim = heads.head_dim
    choices = [choice for choice in settings.span if not (causal and choice.name == "everywhere")]
    if causal and "causal" not in (choice.name for choice in choices):
        choices.insert(0, Choice("causal"))
    score = SCORES.build(settings.score, query_dim, key_dim)
    spans = [SPANS.build(choice, query_dim, key_dim) for choice in choices]
    weighting = WEIGHTINGS.build(settings.weighting, query_dim)
    chosen = (settings.score, *choices, settings.weighting)
    for choice, part in zip(chosen, (score, *spans, weighting), strict=True):
        if causal:
            _need_growing(choice, part)
    span = spans[0] if len(spans) == 1 else AllOf(spans)
    return Attention(score, span, weighting, heads, gate, dropout=settings.dropout)


def _need_shares(settings: ModelSettings) -> None:
    """What a head takes for shares of a probability must not be negative."""
    weighting: Any = WEIGHTINGS[settings.attention.weighting.name]
    if weighting.signed:
        problem = f"weights by '{settings.attention.weighting.name}' may be negative, so '{settings.head.name}'"
        hint = "model.attention.weighting=softmax or sigmoid, or model.head=linear"
        raise ConfigError("model.attention.weighting", f"{problem} cannot take them for shares", hint)


def _need_growing(choice: Choice, part: Part) -> None:
    if part.whole:
        problem = f"'{choice.name}' must know every key from the start, but a decoder's own words come one by one"
        hint = "use it in model.attention, which reads the source, or beside a decoder without self-attention"
        raise ConfigError("attention", problem, hint)


def _sockets(settings: ModelSettings) -> Sockets:
    cross = partial(build_attention, settings.attention, place="model.attention")
    itself = partial(build_attention, settings.self_attention, place="model.self_attention")
    return Sockets(
        cross=cross,
        itself=lambda dim: itself(dim, dim),
        causal=lambda dim: itself(dim, dim, causal=True),
    )


def _embedder(settings: ModelSettings, vocab_size: int) -> Embedder:
    position = None if settings.position is None else POSITIONS.build(settings.position, settings.dim)
    choice = _with_dropout(EMBEDDERS, settings.embedder, settings)
    return EMBEDDERS.build(choice, vocab_size, settings.dim, position)


def _with_dropout(table: Registry[Any], choice: Choice, settings: ModelSettings) -> Choice:
    if "dropout" in choice.settings or "dropout" not in table.settings(choice.name):
        return choice
    return Choice(choice.name, {**choice.settings, "dropout": settings.dropout})
