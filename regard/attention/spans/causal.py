"""Causal attention: nothing to the right of the query (Vaswani et al. 2017, section 3.2.3)."""

import torch
from torch import Tensor

from regard.attention.parts import Attended, Memory, Span, View


class CausalSpan(Span):
    """Query i sees keys 0 … i. The past counts the queries already answered, so one step equals all steps."""

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__()

    def begin(self, queries: Tensor, memory: Memory) -> int:
        """No query answered yet."""
        return 0

    def after(self, past: int, attended: Attended, scores: Tensor | None) -> int:
        """Counts these queries."""
        return past + attended.context.shape[-2]

    def forward(self, queries: Tensor, memory: Memory, past: int) -> View:
        """queries (..., query, query_dim) → a band below the diagonal, and the memory's mask."""
        num_queries, num_keys = queries.shape[-2], memory.keys.shape[-2]
        shown = None if memory.mask is None else memory.mask.unsqueeze(-2)
        if num_keys <= past + 1:  # a single step at the end of a cache: all that is there is in the past
            return View(mask=shown)
        places = torch.arange(past, past + num_queries, device=queries.device)
        band = torch.arange(num_keys, device=queries.device) <= places.unsqueeze(-1)
        return View(mask=band if shown is None else band & shown)
