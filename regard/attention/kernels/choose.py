"""Chooses how scores, weights and the read are computed."""

from typing import Any

from torch import Tensor
from torch.nn import functional

from regard.attention.kernels.banded import by_window
from regard.attention.kernels.flex import by_flex, may_flex
from regard.attention.kernels.products import AttentionParts, by_products
from regard.attention.kernels.short import by_short, may_be_short
from regard.attention.kernels.softmax import may_hide_a_row
from regard.attention.parts import Attended, Memory, View, Window
from regard.ops.plain import is_plain

SHORT = 64  # keys up to which plain products beat every kernel on a CPU, as measured
ROOM, ROOM_OF_PRODUCTS, ROOM_OF_COPIES = 2, 6, 24  # windows in a memory from which few keys beat all, as measured
LONG = 120  # keys from which few of them beat plain products of all


def attend(
    parts: AttentionParts, queries: Tensor, memory: Memory, past: tuple[Any, ...], *, dropout: float, need_weights: bool
) -> tuple[Attended, Tensor | None]:
    """queries (..., query, query_dim) → what they saw, without its past, and the scores if all were computed.

    Asking for weights never changes the context: where a fast path computes it, the weights are computed beside it.
    """
    score, span, weighting = parts
    window = _few_keys(parts, queries, memory, past)
    if window is not None:
        return _attend_near(parts, queries, memory, window, past, dropout, need_weights), None
    view: View = span(queries, memory, past[1])
    if not need_weights and may_be_short(score, weighting, queries, memory, view, dropout):
        return Attended(by_short(queries, memory, view.mask, score.dot_scale or 1.0)), None
    product = None
    if weighting.softmax and view.gain is None and view.values is None and not is_plain():
        product = score.inner(queries, memory.keys, past[0])
    if product is None or not _sdpa_wins(queries, memory):
        return by_products(parts, queries, memory, view, past, dropout)
    context = _sdpa(*product, memory.values, view, dropout)
    if not need_weights:
        return Attended(context), None
    beside, scores = by_products(parts, queries, memory, view, past, 0.0)
    return beside._replace(context=context), scores


def _few_keys(parts: AttentionParts, queries: Tensor, memory: Memory, past: tuple[Any, ...]) -> Window | None:
    """Where the keys lie that are enough, if they are so few that copying them takes less time than a score of all."""
    score, span, _ = parts
    num_queries, num_keys = queries.shape[-2], memory.keys.shape[-2]
    if is_plain() or num_keys <= SHORT or not num_queries or any(part.sequential for part in parts):
        return None
    window = span.window(queries, memory, past[1])
    if window is None:
        return None
    if score.inner(queries[..., :1, :], memory.keys[..., :1, :], past[0]) is None:
        return window if not score.by_place and ROOM * window.width < num_keys else None
    room = ROOM_OF_PRODUCTS if window.steady or num_queries == 1 else ROOM_OF_COPIES
    return window if max(LONG, room * window.width) < num_keys else None


def _attend_near(
    parts: AttentionParts,
    queries: Tensor,
    memory: Memory,
    window: Window,
    past: tuple[Any, ...],
    dropout: float,
    need_weights: bool,
) -> Attended:
    context = None
    if may_flex(parts, queries, memory, window, dropout):
        context = by_flex(parts, queries, memory, window, past)
        if context is not None and not need_weights:
            return Attended(context)
    near = by_window(parts, queries, memory, window, past, dropout=dropout, need_weights=need_weights)
    return near if context is None else near._replace(context=context)


def _sdpa_wins(queries: Tensor, memory: Memory) -> bool:
    return queries.dim() >= 3 and (queries.device.type != "cpu" or memory.keys.shape[-2] > SHORT)


def _sdpa(queries: Tensor, keys: Tensor, values: Tensor, view: View, dropout: float) -> Tensor:
    """torch's fused attention; a fully hidden row is shown everything and zeroed after, safe in every torch version."""
    mask = view.mask
    hidden = None
    if mask is not None and may_hide_a_row(mask):
        hidden = ~mask.any(dim=-1, keepdim=True)
        mask = mask | hidden
    bias = view.bias
    if bias is not None and mask is not None:
        bias, mask = bias.masked_fill(~mask, float("-inf")), None
    context = _fused(queries, keys, values, bias if bias is not None else mask, dropout)
    return context if hidden is None else context.masked_fill(hidden, 0.0)


def _fused(queries: Tensor, keys: Tensor, values: Tensor, seen: Tensor | None, dropout: float) -> Tensor:
    """Without heads torch would hold all scores: one head is one more axis."""
    if queries.dim() == 3:
        queries, keys, values = queries.unsqueeze(1), keys.unsqueeze(-3), values.unsqueeze(1)
        seen = seen.unsqueeze(1) if seen is not None and seen.dim() == 3 else seen
        return _fused(queries, keys, values, seen, dropout).squeeze(1)
    return functional.scaled_dot_product_attention(queries, keys, values, attn_mask=seen, dropout_p=dropout, scale=1.0)
