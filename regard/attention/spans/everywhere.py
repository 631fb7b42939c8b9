"""Global attention: every key is visible (https://arxiv.org/abs/1508.04025, section 3.1)."""

from typing import Any

from torch import Tensor

from regard.attention.parts import Memory, Span, View


class EverywhereSpan(Span):
    """All keys that the memory's own mask shows.

    Cost: O(n·m·d)
    """

    shown = "all"

    def view_at(self, queries: Tensor, memory: Memory, past: Any, places: Tensor) -> View:
        """queries (..., query, query_dim) → nothing is hidden."""
        return View()
