"""Coupling by position alone: word n of the target reads state n of the source (ByteNet, arXiv:1610.10099)."""

import torch
from torch import Tensor

from regard.attention.parts import Memory, View, Window
from regard.attention.spans.counting import CountingSpan


class SamePositionSpan(CountingSpan):
    """Query i sees key i only, and nothing beyond the end: its context is then zero."""

    def forward(self, queries: Tensor, memory: Memory, past: int) -> View:
        """queries (..., query, query_dim) → a diagonal, and the memory's mask."""
        same = torch.arange(memory.keys.shape[-2], device=queries.device) == self.places(queries, past)
        return View(mask=same if memory.mask is None else same & memory.mask.unsqueeze(-2))

    def window(self, queries: Tensor, memory: Memory, past: int) -> Window:
        """One place for each query."""
        return Window(self.places(queries, past))
