"""Base of spans by position: they count the earlier queries."""

import torch
from torch import Tensor

from regard.attention.parts import Attended, Memory, Span


class CountingSpan(Span):
    """The past counts the queries already answered, so one step equals all steps."""

    by_place = True

    def begin(self, queries: Tensor, memory: Memory) -> int:
        return 0

    def after(self, past: int, attended: Attended, scores: Tensor | None) -> int:
        return past + attended.context.shape[-2]

    def places(self, queries: Tensor, past: int) -> Tensor:
        """(query, 1): where the queries (..., query, query_dim) stand, from 0."""
        return torch.arange(past, past + queries.shape[-2], device=queries.device).unsqueeze(-1)


def taken(of_keys: Tensor, places: Tensor) -> Tensor:
    """Values of all keys (..., 1, key) → values of the keys at `places`, (..., query, key) or (key)."""
    within = places.clamp(0, max(0, of_keys.shape[-1] - 1))
    if within.dim() == 1:
        return of_keys.index_select(-1, within)
    lead = torch.broadcast_shapes(of_keys.shape[:-1], within.shape[:-1])
    return of_keys.expand(*lead, -1).gather(-1, within.expand(*lead, -1))
