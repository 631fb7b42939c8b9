"""The scaled dot product: https://arxiv.org/abs/1706.03762, equation 1."""

import math
from typing import Any

from torch import Tensor

from regard.attention.parts import Score
from regard.attention.scores.dot import need_equal


class ScaledDotScore(Score):
    """query · key / sqrt(dim): unit variance for independent unit-variance features. Needs query_dim = key_dim.

    Cost: O(n·m·d)
    """

    aliases = "scaled_dot_product, qkv, query_key_value, 缩放点积, 缩放点乘"

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__()
        need_equal(query_dim, key_dim)
        self.scale = self.dot_scale = 1.0 / math.sqrt(query_dim)

    def forward(self, queries: Tensor, prepared: Tensor, past: Any) -> Tensor:
        """(..., query, dim) and keys (..., key, dim) → scores (..., query, key)."""
        return (queries * self.scale) @ prepared.transpose(-2, -1)

    def inner(self, queries: Tensor, prepared: Tensor, past: Any) -> tuple[Tensor, Tensor]:
        return queries * self.scale, prepared
