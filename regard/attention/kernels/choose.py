"""Choose how scores, weights and the read are computed.

Windows on a GPU are computed by torch's flex attention, which skips the blocks of keys that no query of a block sees.
"""

import functools
import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from regard.attention.kernels.banded import AttentionParts, Blocks, by_products, by_window, key_runs
from regard.attention.kernels.short import by_short, may_be_short
from regard.attention.kernels.softmax import may_hide_a_row
from regard.attention.parts import Attended, Memory, View, Window
from regard.ops.plain import is_plain

if TYPE_CHECKING:  # loaded where it is called, which on a CPU is never
    from torch.nn.attention.flex_attention import BlockMask


SHORT_MEMORY = 64  # keys up to which plain products beat every kernel on a CPU, as measured
# windows in a memory from which few keys beat all, as measured
ROOM_OF_SCORES, ROOM_OF_PRODUCTS, ROOM_OF_COPIES = 2, 6, 24
LONG_MEMORY = 120  # keys from which few of them beat plain products of all


def attend(
    parts: AttentionParts,
    queries: Tensor,
    memory: Memory,
    past: tuple[Any, ...],
    *,
    mask: Tensor | None = None,
    dropout: float,
    need_weights: bool,
) -> tuple[Attended, Tensor | None]:
    """queries (..., query, query_dim) → what they saw, without its past, and the scores if all were computed.

    `mask` (..., query, key) hides keys from single queries, besides the span and the memory's mask.

    Asking for weights never changes the context: where a fast path computes it, the weights are computed beside it.
    """
    score, span, weighting = parts
    window = _few_keys(parts, queries, memory, past) if mask is None else None
    if window is not None:
        return _attend_near(parts, queries, memory, window, past, dropout, need_weights), None
    view: View = span(queries, memory, past[1])
    if mask is not None:
        view = view._replace(mask=mask if view.mask is None else view.mask & mask)
    if not need_weights and may_be_short(score, weighting, queries, memory, view, dropout):
        return Attended(by_short(queries, memory, view.mask, score.dot_scale or 1.0)), None
    product = None
    if weighting.softmax and view.gain is None and view.values is None and not is_plain():
        product = score.inner(queries, memory.keys, past[0])
    long = queries.device.type != "cpu" or memory.keys.shape[-2] > SHORT_MEMORY
    if product is None or queries.dim() < 3 or not long:
        return by_products(parts, queries, memory, view, past, dropout)
    context = _sdpa(*product, memory.values, view, dropout)
    if not need_weights:
        return Attended(context), None
    beside, scores = by_products(parts, queries, memory, view, past, 0.0)
    return beside._replace(context=context), scores


def _few_keys(parts: AttentionParts, queries: Tensor, memory: Memory, past: tuple[Any, ...]) -> Window | None:
    """Return the window of the keys that suffice, if copying them takes less time than scoring all; else None."""
    score, span, _ = parts
    num_queries, num_keys = queries.shape[-2], memory.keys.shape[-2]
    if is_plain() or num_keys <= SHORT_MEMORY or not num_queries or any(part.sequential for part in parts):
        return None
    window = span.window(queries, memory, past[1])
    if window is None:
        return None
    if score.inner(queries[..., :1, :], memory.keys[..., :1, :], past[0]) is None:
        return window if not score.by_place and ROOM_OF_SCORES * window.width < num_keys else None
    room = ROOM_OF_PRODUCTS if window.steady or num_queries == 1 else ROOM_OF_COPIES
    return window if max(LONG_MEMORY, room * window.width) < num_keys else None


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
    """Call torch's fused attention with a head axis: without one torch would hold all scores."""
    if queries.dim() == 3:
        queries, keys, values = queries.unsqueeze(1), keys.unsqueeze(-3), values.unsqueeze(1)
        seen = seen.unsqueeze(1) if seen is not None and seen.dim() == 3 else seen
        return _fused(queries, keys, values, seen, dropout).squeeze(1)
    return functional.scaled_dot_product_attention(queries, keys, values, attn_mask=seen, dropout_p=dropout, scale=1.0)


_BLOCK = 128  # queries and keys of a block
DIMS = range(16, 129)  # of a head: those the kernel surely has room for
DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def may_flex(parts: AttentionParts, queries: Tensor, memory: Memory, window: Window, dropout: float) -> bool:
    """Return whether the kernel fits: it has neither dropout nor float64, few queries leave it idle, and there must be
    heads; on a CPU it has no gradients."""
    if queries.device.type != "cuda" or importlib.util.find_spec("triton") is None:
        return False
    able = parts[2].softmax and window.steady and dropout == 0.0
    large = queries.dim() == 4 and queries.shape[-2] >= _BLOCK
    read = (queries, memory.keys, memory.values)
    known = queries.dtype in DTYPES and len({one.dtype for one in read}) == 1
    return able and large and known and all(one.shape[-1] in DIMS for one in read)


def by_flex(
    parts: AttentionParts,
    queries: Tensor,
    memory: Memory,
    window: Window,
    past: tuple[Any, ...],
    *,
    compiled: bool = True,
) -> Tensor | None:
    """queries (batch, head, query, query_dim) → contexts; None where a part asks for more than the kernel does."""
    score, span, _ = parts
    runs = key_runs(window, Blocks(queries.shape[-2], 1, 1), memory)
    view, product = span.view_at(queries, memory, past[1], runs.places), score.inner(queries, memory.keys, past[0])
    if product is None or (view.bias, view.gain, view.values) != (None, None, None):
        return None
    if any(one.dtype != memory.values.dtype or one.shape[-1] not in DIMS for one in product):
        return None  # a score may widen what it multiplies, or take another dtype under autocast
    shown = runs.shown if view.mask is None else runs.shown & view.mask
    lead = queries.shape[:-2]
    sees = _seen(window.first.expand(*lead, -1), shown.expand(*lead, *shown.shape[-2:]), window)
    mask = _block_mask(window, memory.keys.shape[-2], sees)
    attend: Any = _compiled() if compiled else _kernel()
    context: Tensor = attend(*product, memory.values, block_mask=mask, scale=1.0)
    return context


def _seen(first: Tensor, shown: Tensor, window: Window) -> Callable[..., Tensor]:
    """first (batch, head, query), shown (batch, head, query, width) → the question of the kernel, by place."""
    width, step = window.width, window.step

    def sees(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        offset = key - first[batch, head, query]
        within = (offset >= 0) & (offset < width * step) & (offset % step == 0)
        return within & shown[batch, head, query, (offset // step).clamp(0, width - 1)]

    return sees


def _block_mask(window: Window, num_keys: int, sees: Callable[..., Tensor]) -> "BlockMask":
    """Return the blocks of keys that each block of queries needs, from the windows alone, without queries x keys."""
    from torch.nn.attention.flex_attention import BlockMask

    first = window.first.reshape((1,) * (3 - window.first.dim()) + window.first.shape)
    num_queries = first.shape[-1]
    last = first[..., -1:].expand(*first.shape[:-1], -num_queries % _BLOCK)
    blocks = torch.cat([first, last], dim=-1).unflatten(-1, (-1, _BLOCK))
    low = blocks.amin(dim=-1).clamp(0, num_keys - 1) // _BLOCK
    high = (blocks.amax(dim=-1) + window.width * window.step - 1).clamp(0, num_keys - 1) // _BLOCK
    all_blocks = -(-num_keys // _BLOCK)
    indices = (low.unsqueeze(-1) + torch.arange(all_blocks, device=first.device)) % all_blocks
    return BlockMask.from_kv_blocks(
        (high - low + 1).int(), indices.int(), BLOCK_SIZE=_BLOCK, mask_mod=sees, seq_lengths=(num_queries, num_keys)
    )


def _kernel() -> Callable[..., Any]:
    from torch.nn.attention.flex_attention import flex_attention

    return flex_attention


@functools.cache
def _compiled() -> Callable[..., Any]:
    return torch.compile(_kernel())
