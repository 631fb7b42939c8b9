"""Attention of queries that see a few keys only: these are gathered, so time and memory grow with the window alone."""

from typing import Any

from torch import Tensor

from regard.attention.kernels.products import Parts, by_products
from regard.attention.parts import Attended, Memory, View, Window

ROOM, ROOM_OF_PRODUCTS = 2, 40  # windows in a memory from which gathering is worth while, as measured


def fits(parts: Parts, queries: Tensor, memory: Memory, window: Window, past: tuple[Any, ...]) -> bool:
    """Whether a few keys may stand for all, and are so few that gathering them takes less time than a score of all."""
    score = parts[0]
    if score.by_place or any(part.sequential for part in parts):
        return False
    room = ROOM if score.inner(queries, memory.keys, past[0]) is None else ROOM_OF_PRODUCTS
    return room * window.places.shape[-1] < memory.keys.shape[-2]


def by_window(
    parts: Parts,
    queries: Tensor,
    memory: Memory,
    window: Window,
    past: tuple[Any, ...],
    *,
    dropout: float,
    need_weights: bool,
) -> Attended:
    """queries (..., query, query_dim) → what they saw: each is a row of its own with its own few keys."""
    near, view = _gathered(window, memory)
    seen, _ = by_products(parts, queries.unsqueeze(-2), near, view, past, dropout)
    weights = None
    if need_weights and seen.weights is not None:
        weights = _scattered(seen.weights.squeeze(-2), window.places, memory.keys.shape[-2])
    terms = {name: term.squeeze(-1) for name, term in seen.terms.items()}
    return Attended(seen.context.squeeze(-2), weights, (), terms)


def _gathered(window: Window, memory: Memory) -> tuple[Memory, View]:
    """keys (..., key, dim) → (..., query, width, dim), values alike, and what of them is seen."""
    places, (mask, bias, gain, values) = window.places, window.view
    num_keys = memory.keys.shape[-2]
    index = places.clamp(0, num_keys - 1)
    shown = (places >= 0) & (places < num_keys)
    if memory.mask is not None:
        shown = shown & _at(memory.mask.expand(memory.keys.shape[:-1]).unsqueeze(-1), index).squeeze(-1)
    if mask is not None:
        shown = shown & mask
    near = Memory(_at(memory.keys, index), _at(memory.values, index), None)
    bias, gain = (None if one is None else one.unsqueeze(-2) for one in (bias, gain))
    return near, View(shown.unsqueeze(-2), bias, gain, None if values is None else values.unsqueeze(-3))


def _scattered(weights: Tensor, places: Tensor, num_keys: int) -> Tensor:
    """Weights (..., query, width) of the keys in a window → (..., query, key), 0 for all others."""
    index = places.clamp(0, num_keys - 1).expand(weights.shape)  # what stands outside weighs 0
    return weights.new_zeros(*weights.shape[:-1], num_keys).scatter_add(-1, index, weights)


def _at(items: Tensor, index: Tensor) -> Tensor:
    """items (..., key, dim), index (..., query, width) → (..., query, width, dim)."""
    flat = index.expand(*items.shape[:-2], *index.shape[-2:]).flatten(-2).unsqueeze(-1)
    return items.gather(-2, flat.expand(*flat.shape[:-1], items.shape[-1])).unflatten(-2, index.shape[-2:])
