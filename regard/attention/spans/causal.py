"""Causal attention: nothing to the right of the query (https://arxiv.org/abs/1706.03762, section 3.2.3)."""

from torch import Tensor

from regard.attention.parts import Memory, View
from regard.attention.spans.counting import CountingSpan


class CausalSpan(CountingSpan):
    """Query i sees keys 0 … i.

    Cost: O(n·m·d)
    """

    shown = "past"
    aliases = "masked, masked_self, look_ahead, autoregressive, unidirectional, 掩码, 遮蔽, 带掩码"

    def view_at(self, queries: Tensor, memory: Memory, past: int, places: Tensor) -> View:
        """queries (..., query, query_dim) → a triangle below the diagonal."""
        if memory.keys.shape[-2] <= past + 1:  # a step at the end of a cache: all that is there is in the past
            return View()
        return View(places <= self.places(queries, past))
