"""The bilinear form: "general" of https://arxiv.org/abs/1508.04025, section 3.1."""

from typing import Any

from torch import Tensor, nn

from regard.attention.parts import Score


class BilinearScore(Score):
    """query · W key, W (query_dim, key_dim); the keys are projected once per sentence."""

    def __init__(self, query_dim: int, key_dim: int, *, bias: bool = False) -> None:
        super().__init__()
        self.from_key = nn.Linear(key_dim, query_dim, bias=bias)

    def prepare(self, keys: Tensor) -> Tensor:
        """(..., key, key_dim) → W keys (..., key, query_dim)."""
        prepared: Tensor = self.from_key(keys)
        return prepared

    def forward(self, queries: Tensor, prepared: Tensor, past: Any) -> Tensor:
        """(..., query, query_dim) and prepared keys → scores (..., query, key)."""
        return queries @ prepared.transpose(-2, -1)

    def inner(self, queries: Tensor, prepared: Tensor, past: Any) -> tuple[Tensor, Tensor]:
        """Queries as they are, keys as prepared."""
        return queries, prepared
