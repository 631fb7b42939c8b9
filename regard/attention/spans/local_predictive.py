"""Local attention with a predicted place, "local-p" of https://arxiv.org/abs/1508.04025, section 3.2."""

from typing import Any

import torch
from torch import Tensor, nn

from regard.attention.parts import Memory, Span, View, Window
from regard.errors import ConfigError


class LocalPredictiveSpan(Span):
    """p = S · sigmoid(v · tanh(W query)) (equation 9), S the number of keys that may be looked at.

    Keys at a distance of at most `radius` from p are seen; their weights, a softmax over the window, are multiplied by
    exp(-(key - p)² / (2 (radius / 2)²)) (equation 10) and not normalised again. Places count from 0.
    """

    whole = True

    def __init__(self, query_dim: int, key_dim: int, *, radius: int = 10, hidden_dim: int = 64) -> None:
        super().__init__()
        if radius < 1:
            raise ConfigError("attention.span.radius", f"is {radius}", "at least 1, or a window may hold no key")
        self.from_query = nn.Linear(query_dim, hidden_dim, bias=False)
        self.to_place = nn.Linear(hidden_dim, 1, bias=False)
        self.radius = radius

    def forward(self, queries: Tensor, memory: Memory, past: Any) -> View:
        """queries (..., query, query_dim) → a window around the predicted place of each, and its Gaussian."""
        keys = torch.arange(memory.keys.shape[-2], device=queries.device)
        near, gain = self._around(self._predicted(queries, memory), keys)
        return View(near if memory.mask is None else near & memory.mask.unsqueeze(-2), gain=gain)

    def window(self, queries: Tensor, memory: Memory, past: Any) -> Window:
        """The 2 radius + 1 places that may be near enough."""
        place = self._predicted(queries, memory)
        steps = torch.arange(2 * self.radius + 1, device=queries.device)
        places = (place - self.radius).ceil().long().unsqueeze(-1) + steps
        near, gain = self._around(place, places)
        return Window(places, View(near, gain=gain))

    def _predicted(self, queries: Tensor, memory: Memory) -> Tensor:
        """p (..., query), in float32 at least: bfloat16 knows no odd numbers above 256."""
        length = memory.keys.shape[-2] if memory.mask is None else memory.mask.sum(dim=-1).unsqueeze(-1)
        share = self.to_place(torch.tanh(self.from_query(queries))).squeeze(-1)
        return length * torch.sigmoid(share.to(torch.promote_types(share.dtype, torch.float32)))

    def _around(self, place: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
        """place (..., query), keys (..., key) → what is near, and the Gaussian."""
        distance = keys - place.unsqueeze(-1)
        return distance.abs() <= self.radius, torch.exp(-(distance**2) / (2 * (self.radius / 2) ** 2))
