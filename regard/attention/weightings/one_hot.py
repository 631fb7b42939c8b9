"""Weights that are all on one key."""

import torch
from torch import Tensor

from regard.attention.parts import Memory


def at_largest(values: Tensor, mask: Tensor | None) -> Tensor:
    """values (..., key) → 1 at the largest visible one (the first of equals), else 0; all 0 where no key is visible."""
    if not values.shape[-1]:
        return values
    seen = values if mask is None else values.masked_fill(~mask, float("-inf"))
    chosen = torch.zeros_like(values).scatter(-1, seen.argmax(dim=-1, keepdim=True), 1.0)
    return chosen if mask is None else chosen.masked_fill(~mask, 0.0)


def at_first(memory: Memory, dtype: torch.dtype) -> Tensor:
    """Return (..., key): 1 at the first visible key, else 0."""
    shape = memory.values.shape[:-1]
    if memory.mask is None:
        first = memory.values.new_zeros(shape, dtype=dtype)
        first[..., :1] = 1.0
        return first
    return (memory.mask & (memory.mask.cumsum(dim=-1) == 1)).expand(shape).to(dtype)
