"""A learned number for each distance (https://arxiv.org/abs/1606.01933, section 3.4; https://arxiv.org/abs/1910.10683)."""

from typing import Annotated

import torch
from torch import Tensor, nn

from regard.attention.parts import Memory, View
from regard.attention.spans.counting import CountingSpan
from regard.config import Doc
from regard.config.bounds import Count


class DistanceBiasSpan(CountingSpan):
    """score_ij + d_(i - j), d learned for |i - j| <= max_distance; all that are farther share one d.

    The intra-sentence attention of the decomposable model has no other notion of order. Every head adds the same d,
    which begins as 0.

    Cost: O(n·m)
    """

    aliases = "distance_sensitive_bias, relative_bias"

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        *,
        max_distance: Annotated[Count, Doc("Distance beyond which all keys share one bias.")] = 10,
    ) -> None:
        super().__init__()
        self.max_distance = max_distance
        self.biases = nn.Parameter(torch.zeros(2 * max_distance + 2))  # of -max_distance … max_distance, of the rest

    def view_at(self, queries: Tensor, memory: Memory, past: int, places: Tensor) -> View:
        """queries (..., query, query_dim) → a bias (query, key)."""
        distances = self.places(queries, past) - places
        rows = torch.where(distances.abs() <= self.max_distance, distances, self.max_distance + 1)
        return View(bias=self.biases[rows + self.max_distance])
