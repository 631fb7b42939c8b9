"""The dot product: "dot" of https://arxiv.org/abs/1508.04025, section 3.1."""

from typing import Any

from torch import Tensor

from regard.attention.parts import Score
from regard.errors import PartError


class DotScore(Score):
    """query · key. Needs query_dim = key_dim.

    Cost: O(n·m·d)
    """

    dot_scale = 1.0
    aliases = "dot_product, inner_product, luong_dot, 点积, 点乘, 内积"

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__()
        need_equal(query_dim, key_dim)

    def forward(self, queries: Tensor, prepared: Tensor, past: Any) -> Tensor:
        """(..., query, dim) and keys (..., key, dim) → scores (..., query, key)."""
        return queries @ prepared.transpose(-2, -1)

    def inner(self, queries: Tensor, prepared: Tensor, past: Any) -> tuple[Tensor, Tensor]:
        return queries, prepared


def need_equal(query_dim: int, key_dim: int) -> None:
    """Raise ConfigError unless a product of the two is possible."""
    if query_dim != key_dim:
        problem = f"a dot product needs equal dims, got query {query_dim} and key {key_dim}"
        raise PartError(problem, "use 'bilinear', or num_heads > 1, which projects both")
