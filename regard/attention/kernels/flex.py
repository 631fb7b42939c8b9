"""Windows on a GPU: torch's flex attention, which skips the blocks of keys that no query of a block sees."""

import functools
import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from regard.attention.kernels.banded import Blocks, key_runs
from regard.attention.kernels.products import AttentionParts
from regard.attention.parts import Memory, Window

if TYPE_CHECKING:  # loaded where it is called, which on a CPU is never
    from torch.nn.attention.flex_attention import BlockMask

_BLOCK = 128  # queries and keys of a block
DIMS = range(16, 129)  # of a head: those the kernel surely has room for
DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def may_flex(parts: AttentionParts, queries: Tensor, memory: Memory, window: Window, dropout: float) -> bool:
    """Whether the kernel can do it: it knows neither dropout nor float64, few queries leave it idle, and there must be
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
    """Which blocks of keys a block of queries needs, told from the windows alone: no queries x keys comes to be."""
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
