"""Coupling by position alone: word n of the target reads state n of the source (ByteNet, arXiv:1610.10099)."""

from torch import Tensor

from regard.attention.parts import Memory, View, Window
from regard.attention.spans.counting import CountingSpan


class SamePositionSpan(CountingSpan):
    """Query i sees key i only, and nothing beyond the end: its context is then zero.

    Cost: O(n·d)
    """

    aliases = "bytenet, position_by_position, diagonal, 逐位置"
    single = True

    def window(self, queries: Tensor, memory: Memory, past: int) -> Window:
        return Window(self.places(queries, past).squeeze(-1), 1, steady=True)

    def view_at(self, queries: Tensor, memory: Memory, past: int, places: Tensor) -> View:
        """queries (..., query, query_dim) → a diagonal."""
        return View(places == self.places(queries, past))
