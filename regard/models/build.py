"""Names → modules: builders for the rows of MODELS. Parts receive ready parts and never see a config."""

from collections.abc import Sequence
from functools import partial
from typing import TypeVar

import torch
from torch import nn

from regard.attention import SCORES, SPANS, WEIGHTINGS, Attention, Score, Sockets, Span, Weighting
from regard.attention.attention import Heads
from regard.attention.parts import AllOf, Part
from regard.config import note, notes_at
from regard.encoders import ENCODERS
from regard.encoders.encoder import Encoder
from regard.errors import PartError
from regard.layers.embedders import EMBEDDERS, Embedder
from regard.layers.positions import POSITIONS
from regard.models.settings import HEADS_OF_FOUR, AttentionSettings, ReadingSettings
from regard.ops.modules import count_parameters
from regard.registry import Choice

_M = TypeVar("_M", bound=nn.Module)


def build_attention(
    settings: AttentionSettings, query_dim: int, key_dim: int, *, causal: bool = False, place: str = "attention"
) -> Attention:
    """Return an attention with its parts. With several heads, score, span and weighting have the width of a head.

    Raises ConfigError for several heads without projections, for a part that needs all keys in `causal` attention, or
    where a part refuses its settings; `place` is their place in a config.
    """
    try:
        with notes_at(place, absolute=True):
            attention = _filled(settings, query_dim, key_dim, causal)
    except PartError as error:
        raise error.inside(place) from error
    attention.place = place
    return attention


def build_sockets(attention: AttentionSettings, self_attention: AttentionSettings) -> Sockets:
    """Return builders of source attention, of self-attention, and of causal self-attention."""
    cross = partial(build_attention, attention, place="model.attention")
    itself = partial(build_attention, self_attention, place="model.self_attention")
    return Sockets(
        cross=cross,
        itself=lambda dim: itself(dim, dim),
        causal=lambda dim: itself(dim, dim, causal=True),
    )


def build_embedder(choice: Choice, position: Choice | None, size: int, dim: int, dropout: float) -> Embedder:
    """Return an embedder of `size` ids with its positional encoding."""
    positions = None if position is None else POSITIONS.build(position, dim)
    return EMBEDDERS.build(choice, size, dim, positions, given={"dropout": dropout})


def build_encoder(choice: Choice, dim: int, self_attention: AttentionSettings, dropout: float) -> Encoder:
    """Return an encoder of vectors (..., dim) without attention to another sequence."""
    return ENCODERS.build(choice, dim, build_sockets(HEADS_OF_FOUR, self_attention), given={"dropout": dropout})


def build_reading(shared: ReadingSettings, size: int) -> tuple[Embedder, Encoder]:
    """Return an embedder of `size` ids, and an encoder of its vectors."""
    reads = build_embedder(shared.embedder, shared.position, size, shared.dim, shared.dropout)
    return reads, build_encoder(shared.encoder, reads.dim, shared.self_attention, shared.dropout)


def initialise_uniform(model: _M, bound: float | None) -> _M:
    """Sample every weight of two axes or more from U(-bound, bound), as in https://arxiv.org/abs/1409.3215.

    Biases, gains and other vectors keep their own initialisation; with None all weights do. Returns the model.
    """
    if bound is None:
        return model
    for parameter in model.parameters():
        if parameter.dim() > 1:
            real = torch.view_as_real(parameter.detach()) if parameter.is_complex() else parameter
            nn.init.uniform_(real, -bound, bound)
    return model


def _filled(settings: AttentionSettings, query_dim: int, key_dim: int, causal: bool) -> Attention:
    count, width = settings.num_heads, settings.head_dim
    if (count > 1 or width) and settings.project is False:
        problem = f"a head_dim of {width} needs projections" if width else f"{count} heads need projections"
        raise PartError(problem, "leave it out, or num_heads: 1 and head_dim: null", setting="project")
    gate = nn.Linear(query_dim, 1) if settings.gate else None
    heads = None
    if settings.project or count > 1 or width:
        inner = width and width * count
        heads = Heads(
            query_dim, key_dim, num_heads=count, inner_dim=inner, bias=settings.bias, out_proj=settings.out_proj
        )
        query_dim = key_dim = heads.head_dim
    choices = [choice for choice in settings.span if not (causal and choice.name == "everywhere")]
    if causal and "causal" not in (choice.name for choice in choices):
        choices.insert(0, Choice("causal"))
    score = SCORES.build(settings.score, query_dim, key_dim, place="score")
    spans = [SPANS.build(choice, query_dim, key_dim, place="span") for choice in choices]
    weighting = WEIGHTINGS.build(settings.weighting, query_dim, place="weighting")
    chosen = (settings.score, *choices, settings.weighting)
    for choice, part in zip(chosen, (score, *spans, weighting), strict=True):
        if causal:
            _need_growing(choice, part)
    _note_idle_score(settings.score, score, spans, weighting)
    span = spans[0] if len(spans) == 1 else AllOf(spans)
    return Attention(score, span, weighting, heads, gate, dropout=settings.dropout)


def _note_idle_score(choice: Choice, score: Score, spans: Sequence[Span], weighting: Weighting) -> None:
    """Note weights that never learn: a single key has the weight 1 for any score."""
    count = count_parameters(score)
    if count and weighting.normalised and any(span.single for span in spans):
        problem = f"'{choice.name}' changes nothing where a query sees one key, and its {count:,} weights never learn"
        note("score", f"{problem} ('uniform' has none)")


def _need_growing(choice: Choice, part: Part) -> None:
    if part.whole:
        problem = f"'{choice.name}' needs all keys from the start, but a decoder generates its words one by one"
        hint = "use it in model.attention, which reads the source, or beside a decoder without self-attention"
        raise PartError(problem, hint)
