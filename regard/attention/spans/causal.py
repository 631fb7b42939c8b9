"""Causal attention: nothing to the right of the query (Vaswani et al. 2017, section 3.2.3)."""

import torch
from torch import Tensor

from regard.attention.parts import Memory, View
from regard.attention.spans.counting import CountingSpan


class CausalSpan(CountingSpan):
    """Query i sees keys 0 … i."""

    def forward(self, queries: Tensor, memory: Memory, past: int) -> View:
        """queries (..., query, query_dim) → a band below the diagonal, and the memory's mask."""
        num_keys = memory.keys.shape[-2]
        shown = None if memory.mask is None else memory.mask.unsqueeze(-2)
        if num_keys <= past + 1:  # a single step at the end of a cache: all that is there is in the past
            return View(mask=shown)
        band = torch.arange(num_keys, device=queries.device) <= self.places(queries, past)
        return View(mask=band if shown is None else band & shown)
