"""Local attention with a predicted place, "local-p" of https://arxiv.org/abs/1508.04025, section 3.2."""

from typing import Any

import torch
from torch import Tensor, nn

from regard.attention.parts import Memory, Span, View


class LocalPredictiveSpan(Span):
    """p = S · sigmoid(v · tanh(W query)) (equation 9), S the number of keys that may be looked at.

    Keys at a distance of at most `radius` from p are seen; their weights, a softmax over the window, are multiplied by
    exp(-(key - p)² / (2 (radius / 2)²)) (equation 10) and not normalised again. Places count from 0.
    """

    def __init__(self, query_dim: int, key_dim: int, *, radius: int = 10, hidden_dim: int = 64) -> None:
        super().__init__()
        self.from_query = nn.Linear(query_dim, hidden_dim, bias=False)
        self.to_place = nn.Linear(hidden_dim, 1, bias=False)
        self.radius = radius

    def forward(self, queries: Tensor, memory: Memory, past: Any) -> View:
        """queries (..., query, query_dim) → a window around the predicted place of each, and its Gaussian."""
        keys = torch.arange(memory.keys.shape[-2], device=queries.device)
        length = memory.mask.sum(dim=-1).unsqueeze(-1) if memory.mask is not None else len(keys)
        place = length * torch.sigmoid(self.to_place(torch.tanh(self.from_query(queries))).squeeze(-1))
        distance = keys - place.unsqueeze(-1)
        near = distance.abs() <= self.radius
        if memory.mask is not None:
            near = near & memory.mask.unsqueeze(-2)
        spread = max(self.radius, 1) / 2
        return View(mask=near, gain=torch.exp(-(distance**2) / (2 * spread**2)))
