"""Coupling by position alone: word n of the target reads state n of the source (ByteNet, arXiv:1610.10099)."""

from torch import Tensor

from regard.attention.parts import Memory, View, Window
from regard.attention.spans.counting import CountingSpan, in_memory, places_of


class SamePositionSpan(CountingSpan):
    """Query i sees key i only, and nothing beyond the end: its context is then zero.

    Cost: O(n·d)
    """

    def forward(self, queries: Tensor, memory: Memory, past: int) -> View:
        """queries (..., query, query_dim) → a diagonal, and the memory's mask."""
        return in_memory(self.at(queries, memory, past, places_of(memory)), memory)

    def window(self, queries: Tensor, memory: Memory, past: int) -> Window:
        """One place for each query."""
        return Window(self.places(queries, past).squeeze(-1), 1, steady=True)

    def at(self, queries: Tensor, memory: Memory, past: int, places: Tensor) -> View:
        """The query's own place."""
        return View(places == self.places(queries, past))
