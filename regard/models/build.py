"""Names → modules: what the rows of MODELS are built with. Parts receive ready parts and never see a config."""

from collections.abc import Sequence
from functools import partial
from typing import TypeVar

import torch
from torch import nn

from regard.attention import SCORES, SPANS, WEIGHTINGS, Attention, Heads, Part, Score, Sockets, Span, Weighting
from regard.attention.parts import AllOf
from regard.config import note, notes_at
from regard.encoders import ENCODERS
from regard.encoders.encoder import Encoder
from regard.errors import PartError
from regard.layers.embedders import EMBEDDERS, Embedder
from regard.layers.positions import POSITIONS
from regard.models.settings import HEADS_OF_FOUR, AttentionSettings, ReadingSettings
from regard.registry import Choice

_M = TypeVar("_M", bound=nn.Module)


def build_attention(
    settings: AttentionSettings, query_dim: int, key_dim: int, *, causal: bool = False, place: str = "attention"
) -> Attention:
    """One socket, filled. With heads, score, span and weighting live in the heads' width.

    Raises ConfigError where several heads are to do without projections, `causal` meets a part that must know every key
    from the start, or a part refuses its settings; `place` is where a config says them.
    """
    try:
        with notes_at(place, absolute=True):
            attention = _filled(settings, query_dim, key_dim, causal)
    except PartError as error:
        raise error.inside(place) from error
    attention.place = place
    return attention


def build_sockets(attention: AttentionSettings, self_attention: AttentionSettings) -> Sockets:
    """Makers of attention to a source, to all of the own sequence and to its past."""
    cross = partial(build_attention, attention, place="model.attention")
    itself = partial(build_attention, self_attention, place="model.self_attention")
    return Sockets(
        cross=cross,
        itself=lambda dim: itself(dim, dim),
        causal=lambda dim: itself(dim, dim, causal=True),
    )


def build_embedder(choice: Choice, position: Choice | None, size: int, dim: int, dropout: float) -> Embedder:
    """An embedder of `size` ids with its positions."""
    positions = None if position is None else POSITIONS.build(position, dim)
    return EMBEDDERS.build(choice, size, dim, positions, given={"dropout": dropout})


def build_encoder(choice: Choice, dim: int, self_attention: AttentionSettings, dropout: float) -> Encoder:
    """An encoder of vectors (..., dim) that looks at nothing but the sequence it reads."""
    return ENCODERS.build(choice, dim, build_sockets(HEADS_OF_FOUR, self_attention), given={"dropout": dropout})


def build_reading(shared: ReadingSettings, size: int) -> tuple[Embedder, Encoder]:
    """What reads a text of `size` different ids: their embedder, and an encoder of its vectors."""
    reads = build_embedder(shared.embedder, shared.position, size, shared.dim, shared.dropout)
    return reads, build_encoder(shared.encoder, reads.dim, shared.self_attention, shared.dropout)


def draw_uniform(model: _M, bound: float | None) -> _M:
    """Draw every weight of two axes or more from U(-bound, bound), as https://arxiv.org/abs/1409.3215 does.

    Biases, gains and other vectors stay as their parts made them. With None all do. Returns the model.
    """
    if bound is None:
        return model
    for parameter in model.parameters():
        if parameter.dim() > 1:
            real = torch.view_as_real(parameter.detach()) if parameter.is_complex() else parameter
            nn.init.uniform_(real, -bound, bound)
    return model


def _filled(settings: AttentionSettings, query_dim: int, key_dim: int, causal: bool) -> Attention:
    if settings.num_heads > 1 and settings.project is False:
        problem = f"{settings.num_heads} heads are made by projections"
        raise PartError(problem, "leave it out, or use num_heads: 1", setting="project")
    gate = nn.Linear(query_dim, 1) if settings.gate else None
    heads = None
    if settings.project or settings.num_heads > 1:
        heads = Heads(query_dim, key_dim, num_heads=settings.num_heads, bias=settings.bias, out_proj=settings.out_proj)
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
    """Tell of weights that never learn: the weight of an only key is 1, whatever its score."""
    count = sum(parameter.numel() for parameter in score.parameters())
    if count and weighting.normalised and any(span.single for span in spans):
        problem = f"'{choice.name}' changes nothing where a query sees one key, and its {count:,} weights never learn"
        note("score", f"{problem} ('uniform' has none)")


def _need_growing(choice: Choice, part: Part) -> None:
    if part.whole:
        problem = f"'{choice.name}' must know every key from the start, but a decoder's own words come one by one"
        hint = "use it in model.attention, which reads the source, or beside a decoder without self-attention"
        raise PartError(problem, hint)
