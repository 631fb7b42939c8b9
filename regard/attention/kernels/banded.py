"""Attention of queries that see a few keys only: time and memory grow with the window, forward and backward.

Neighbours whose windows overlap are taken in blocks, each with the one run of keys that its queries need, so that
nothing of the size queries x window x dim comes to be; where windows lie anywhere, a block is one query. A block is a
leading axis like any other: every part does what it always does.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from regard.attention.parts import Attended, Memory, Score, Span, View, Weighting, Window
from regard.ops.dropout import dropout as drop
from regard.ops.plain import is_plain

AttentionParts = tuple[Score, Span, Weighting]

_TINY = 400  # multiplications below which torch's batched product on a CPU is a plain loop, slower than a sum


def by_products(
    parts: AttentionParts, queries: Tensor, memory: Memory, view: View, past: tuple[Any, ...], dropout: float
) -> tuple[Attended, Tensor]:
    """queries (..., query, query_dim) → what they saw, without its past, and the scores (..., query, key)."""
    score, _, weighting = parts
    scores = score(queries, memory.keys, past[0])
    return weigh_and_read(weighting, scores, queries, memory.values, view, past[2], dropout)


def weigh_and_read(
    weighting: Weighting, scores: Tensor, queries: Tensor, values: Tensor, view: View, past: Any, dropout: float
) -> tuple[Attended, Tensor]:
    """scores (..., query, key) and values (..., key, value_dim) → what was seen, and the scores with their bias."""
    if view.bias is not None:
        scores = scores + view.bias
    weights, terms = weighting(scores, view, queries, past)
    if view.gain is not None:
        weights = weights * view.gain
    mixing = drop(weights, dropout).to(values.dtype)
    context = _read(mixing, values)
    if view.values is not None:
        context = context + torch.einsum("...qk,...qkv->...qv", mixing, view.values)
    return Attended(context, weights, (), terms), scores


def _read(weights: Tensor, values: Tensor) -> Tensor:
    """weights (..., query, key) @ values (..., key, value_dim)."""
    if is_plain() or values.device.type != "cpu" or torch.is_grad_enabled():  # before sizes: a trace would keep them
        return weights @ values
    if weights.shape[-2] == 1 and values.shape[-2] * values.shape[-1] < _TINY:
        return (values * weights.transpose(-2, -1)).sum(dim=-2, keepdim=True)
    return weights @ values


SMALLEST = 32  # queries of a block: fewer copy more than they save, as measured


class Blocks(NamedTuple):
    """Queries in blocks of `size`; inside a block each is `step` after the one before."""

    num_queries: int
    size: int
    step: int

    def split(self, rows: Tensor, axis: int = -2) -> Tensor:
        """The axis of queries → (block, size); of length 1, where it stands for all of them, → (1, 1)."""
        rows = rows.reshape((1,) * (-axis - rows.dim()) + rows.shape)
        if rows.shape[axis] == 1:
            return rows.unsqueeze(axis)
        extra = -self.num_queries % (self.size * self.step)
        if extra:
            rows = functional.pad(rows, (0, 0) * (-axis - 1) + (0, extra))
        rows = rows.unflatten(axis, (-1, self.size, self.step))
        return rows.transpose(axis - 1, axis).flatten(axis - 2, axis - 1)

    def join(self, rows: Tensor, axis: int = -2) -> Tensor:
        """(block, size) → the axis of queries."""
        rows = rows.unflatten(axis - 1, (-1, self.step)).transpose(axis - 1, axis)
        return rows.flatten(axis - 2, axis).narrow(axis, 0, self.num_queries)


class Runs(NamedTuple):
    """The keys of each block."""

    places: Tensor  # (..., block, key), some outside the memory
    clamped: Tensor  # the same, clamped to the memory
    shown: Tensor  # True = inside the memory and visible


def by_window(
    parts: AttentionParts,
    queries: Tensor,
    memory: Memory,
    window: Window,
    past: tuple[Any, ...],
    *,
    dropout: float,
    need_weights: bool,
) -> Attended:
    """queries (..., query, query_dim) → what they saw, without its past."""
    score, span, weighting = parts
    blocks = _blocks(window, queries.shape[-2])
    runs = key_runs(window, blocks, memory)
    places = blocks.join(runs.places.unsqueeze(-2).expand(*runs.places.shape[:-1], blocks.size, -1))
    view = span.view_at(queries, memory, past[1], places)
    product = score.inner(queries, memory.keys, past[0])
    if product is None:
        scores = score(blocks.split(queries), _rows(memory.keys, runs.clamped), past[0])
    else:
        scores = blocks.split(product[0]) @ _rows(product[1], runs.clamped).transpose(-2, -1)
    values, near = _rows(memory.values, runs.clamped), _near(view, blocks, runs)
    seen, _ = weigh_and_read(weighting, scores, blocks.split(queries), values, near, past[2], dropout)
    weights = None
    if need_weights and seen.weights is not None:
        weights = _scattered(blocks.join(seen.weights), places, memory.keys.shape[-2])
    terms = {name: blocks.join(term, -1) for name, term in seen.terms.items()}
    return Attended(blocks.join(seen.context), weights, (), terms)


def _blocks(window: Window, num_queries: int) -> Blocks:
    """Return blocks of half a window: a run of keys is then at most three times its block."""
    if not window.steady or num_queries <= window.step:
        return Blocks(num_queries, 1, 1)
    size = max(SMALLEST, (1 << (window.width // 2).bit_length()) // 2)
    return Blocks(num_queries, min(size, -(-num_queries // window.step)), window.step)


def key_runs(window: Window, blocks: Blocks, memory: Memory) -> Runs:
    """Return the keys of each block: from the first key of its first query to the last key of its last query."""
    num_keys, first = memory.keys.shape[-2], blocks.split(window.first, -1)[..., :1]
    places = first + window.step * torch.arange(window.width + blocks.size - 1, device=first.device)
    clamped = places.clamp(0, num_keys - 1)
    shown = places == clamped
    if memory.mask is not None:
        shown = shown & _rows(memory.mask.unsqueeze(-1), clamped).squeeze(-1)
    return Runs(places, clamped, shown)


def _near(view: View, blocks: Blocks, runs: Runs) -> View:
    """View of each query (..., query, key) → view of each block (..., block, size, key)."""
    mask, bias, gain, values = view
    shown = runs.shown.unsqueeze(-2)
    return View(
        shown if mask is None else shown & blocks.split(mask),
        None if bias is None else blocks.split(bias),
        None if gain is None else blocks.split(gain),
        None if values is None else blocks.split(values, -3),
    )


def _rows(items: Tensor, index: Tensor) -> Tensor:
    """items (..., key, dim), index (..., block, key) → (..., block, key, dim): whole rows, the quickest to copy."""
    lead, num_keys = items.shape[:-2], items.shape[-2]
    starts = torch.arange(lead.numel(), device=index.device).view(*lead, 1, 1) * num_keys
    rows = index + starts
    return items.reshape(-1, items.shape[-1]).index_select(0, rows.flatten()).view(*rows.shape, -1)


def _scattered(weights: Tensor, places: Tensor, num_keys: int) -> Tensor:
    """Weights (..., query, width) of a few keys → (..., query, key), 0 for all others."""
    index = places.clamp(0, num_keys - 1).expand(weights.shape)  # what stands outside weighs 0
    return weights.new_zeros(*weights.shape[:-1], num_keys).scatter_add(-1, index, weights)
