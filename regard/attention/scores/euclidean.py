"""The nearer, the higher: with a softmax the Gaussian kernel of Nadaraya and Watson (https://doi.org/10.1137/1109020)."""

import math
from typing import Annotated, Any

import torch
from torch import Tensor

from regard.attention.parts import Score
from regard.attention.scores.dot import need_equal
from regard.config import Doc
from regard.config.bounds import Positive


class EuclideanScore(Score):
    """-|query - key|² / scale. Needs query_dim = key_dim.

    `scale` is 2 sigma² of the Gaussian; by default 2 sqrt(dim), so that among keys of one length it weighs as
    'scaled_dot' does. Computed as a product with the first query as origin, so that vectors far from 0 but near each
    other lose no digits.

    Cost: O(n·m·d)
    """

    aliases = "distance, gaussian, gaussian_kernel, rbf, 欧氏距离, 高斯"

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        *,
        scale: Annotated[Positive | None, Doc("Divisor of distances; null: 2 sqrt(dim).")] = None,
    ) -> None:
        super().__init__()
        need_equal(query_dim, key_dim)
        self.scale = 2.0 * math.sqrt(query_dim) if scale is None else scale

    def forward(self, queries: Tensor, prepared: Tensor, past: Any) -> Tensor:
        """(..., query, dim) and keys (..., key, dim) → scores (..., query, key)."""
        ours, theirs = self.inner(queries, prepared, past)
        return ours @ theirs.transpose(-2, -1)

    def inner(self, queries: Tensor, prepared: Tensor, past: Any) -> tuple[Tensor, Tensor]:
        """[2 query; -|query|²; -1] / scale and [key; 1; |key|²], both seen from the first query."""
        origin = queries[..., :1, :].detach().sum(dim=-2, keepdim=True)  # a distance does not depend on it; 0 of none
        ours, theirs = queries - origin, prepared - origin
        lengths = [some.square().sum(dim=-1, keepdim=True) for some in (ours, theirs)]
        ours = torch.cat([2 * ours, -lengths[0], -torch.ones_like(lengths[0])], dim=-1) / self.scale
        return ours, torch.cat([theirs, torch.ones_like(lengths[1]), lengths[1]], dim=-1)
