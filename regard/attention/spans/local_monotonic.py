"""Local attention that goes along with the target, "local-m" of https://arxiv.org/abs/1508.04025, section 3.2."""

from typing import Annotated

import torch
from torch import Tensor

from regard.attention.parts import Memory, View, Window, places_of
from regard.attention.spans.counting import CountingSpan
from regard.attention.spans.local_predictive import near, need_window
from regard.config import Doc
from regard.config.bounds import Count


class LocalMonotonicSpan(CountingSpan):
    """Query t sees the keys at a distance of at most `radius` from p = min(t, position of the last visible key).

    With `gaussian` the weights, a softmax over the window, are multiplied by exp(-(key - p)² / (2 (radius / 2)²)), as
    in local_predictive; with `renormalise` they then sum to one again. Positions count from 0.

    Cost: O(n·r·d)
    """

    aliases = "local_m, monotonic_alignment, 单调局部, 单调性校准, 单调对齐"
    whole = True

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        *,
        radius: Annotated[Count, Doc("Window radius: maximum distance from the query's position to a key.")] = 10,
        gaussian: Annotated[bool, Doc("Multiply the weights by a Gaussian around the position.")] = False,
        renormalise: Annotated[bool, Doc("Renormalise the weights after the Gaussian.")] = False,
    ) -> None:
        super().__init__(query_dim, key_dim)
        need_window(radius, gaussian=gaussian, renormalise=renormalise)
        self.radius, self.gaussian, self.renormalise = radius, gaussian, renormalise

    def window(self, queries: Tensor, memory: Memory, past: int) -> Window:
        return Window(self._middle(queries, memory, past) - self.radius, 2 * self.radius + 1, steady=True)

    def view_at(self, queries: Tensor, memory: Memory, past: int, places: Tensor) -> View:
        """queries (..., query, query_dim) → a window that goes one key on with each query."""
        distance = places - self._middle(queries, memory, past).unsqueeze(-1)
        settings = {"gaussian": self.gaussian, "renormalise": self.renormalise}
        return near(distance, self.radius, **settings, dtype=queries.dtype)

    def _middle(self, queries: Tensor, memory: Memory, past: int) -> Tensor:
        """p (..., query)."""
        own = self.places(queries, past).squeeze(-1)
        places = places_of(memory)
        if memory.mask is None:
            return own.clamp(max=max(0, len(places) - 1))
        if not len(places):
            return torch.zeros_like(own)
        return torch.minimum(own, (places * memory.mask).amax(dim=-1, keepdim=True))
