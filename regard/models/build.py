"""The only file that turns names into modules. Parts receive ready parts and never see a config."""

from typing import Any

from torch import nn

from regard.attention import SCORES, SPANS, WEIGHTINGS, Attention, Heads, Part, Sockets
from regard.attention.spans.all_of import AllOf
from regard.decoders import DECODERS
from regard.encoders import ENCODERS
from regard.errors import ConfigError
from regard.heads import HEADS
from regard.layers.embedders import EMBEDDERS, Embedder
from regard.layers.positions import POSITIONS
from regard.models.language_model import LanguageModel
from regard.models.settings import AttentionSettings, ModelSettings
from regard.models.translator import Reader, Route, Translator
from regard.registry import Choice, Registry

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
    return Translator(
        {ROUTE: Reader(source_embedder, encoder)}, {ROUTE: decoder}, {ROUTE: head}, {ROUTE: Route(ROUTE, ROUTE, ROUTE)}
    )


def build_language_model(settings: ModelSettings, size: int) -> LanguageModel:
    """A model for a vocabulary of this size. It has no encoder, and no attention but the decoder's to itself."""
    embedder = _embedder(settings, size)
    decoder = DECODERS.build(_with_dropout(DECODERS, settings.decoder, settings), embedder, None, _sockets(settings))
    weight = None if settings.tied == "none" else embedder.output_weight()
    return LanguageModel(decoder, HEADS.build(settings.head, decoder.dim, size, weight))


def build_attention(settings: AttentionSettings, query_dim: int, key_dim: int, *, causal: bool = False) -> Attention:
    """One socket, filled. With heads, score, span and weighting live in the heads' width.

    Raises ConfigError where several heads are to do without projections, or `causal` meets a part that must know
    every key from the start.
    """
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


def _need_growing(choice: Choice, part: Part) -> None:
    if part.whole:
        problem = f"'{choice.name}' must know every key from the start, but a decoder's own words come one by one"
        raise ConfigError("model.self_attention", problem, "use it in model.attention, which reads the source")


def _sockets(settings: ModelSettings) -> Sockets:
    return Sockets(
        cross=lambda query_dim, key_dim: build_attention(settings.attention, query_dim, key_dim),
        itself=lambda dim: build_attention(settings.self_attention, dim, dim),
        causal=lambda dim: build_attention(settings.self_attention, dim, dim, causal=True),
    )


def _embedder(settings: ModelSettings, vocab_size: int) -> Embedder:
    position = None if settings.position is None else POSITIONS.build(settings.position, settings.dim)
    choice = _with_dropout(EMBEDDERS, settings.embedder, settings)
    return EMBEDDERS.build(choice, vocab_size, settings.dim, position)


def _with_dropout(table: Registry[Any], choice: Choice, settings: ModelSettings) -> Choice:
    if "dropout" in choice.settings or "dropout" not in table.settings(choice.name):
        return choice
    return Choice(choice.name, {**choice.settings, "dropout": settings.dropout})
