"""Coupling by position alone: word n of the target reads state n of the source (ByteNet, arXiv:1610.10099)."""

import torch
from torch import Tensor

from regard.attention.parts import Attended, Memory, Span, View, Window


class SamePositionSpan(Span):
    """Query i sees key i only, and nothing beyond the end: its context is then zero. The past counts the queries."""

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__()

    def begin(self, queries: Tensor, memory: Memory) -> int:
        """No query answered yet."""
        return 0

    def after(self, past: int, attended: Attended, scores: Tensor | None) -> int:
        """Counts these queries."""
        return past + attended.context.shape[-2]

    def forward(self, queries: Tensor, memory: Memory, past: int) -> View:
        """queries (..., query, query_dim) → a diagonal, and the memory's mask."""
        places = torch.arange(past, past + queries.shape[-2], device=queries.device)
        same = torch.arange(memory.keys.shape[-2], device=queries.device) == places.unsqueeze(-1)
        return View(mask=same if memory.mask is None else same & memory.mask.unsqueeze(-2))

    def window(self, queries: Tensor, memory: Memory, past: int) -> Window:
        """One place for each query."""
        return Window(torch.arange(past, past + queries.shape[-2], device=queries.device).unsqueeze(-1))
