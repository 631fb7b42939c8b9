"""Global attention: every key may be looked at (https://arxiv.org/abs/1508.04025, section 3.1)."""

from typing import Any

from torch import Tensor

from regard.attention.parts import Memory, Span, View


class EverywhereSpan(Span):
    """All keys that the memory's own mask shows.

    Cost: O(n·m·d)
    """

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__()

    def forward(self, queries: Tensor, memory: Memory, past: Any) -> View:
        """queries (..., query, query_dim) → the memory's mask for each of them."""
        return View(mask=None if memory.mask is None else memory.mask.unsqueeze(-2))

    def at(self, queries: Tensor, memory: Memory, past: Any, places: Tensor) -> View:
        """Nothing is hidden."""
        return View()
