"""The coverage score of https://aclanthology.org/P16-1008: it depends on the weights of earlier queries."""

from typing import Annotated, Any

import torch
from torch import Tensor, nn

from regard.aliases import alias
from regard.attention.kernels.chunked import additive_scores
from regard.attention.parts import Attended, Memory, Score
from regard.config import Doc
from regard.config.bounds import NotNegative
from regard.config.common_settings import HiddenDim
from regard.ops.functional import wide


class CoverageScore(Score):
    """v · tanh(W query + U key + V coverage), coverage_tj = coverage_(t-1)j + weight_tj / fertility_j.

    fertility_j = `fertility` · sigmoid(U_f key_j) (equations 8 and 9); with `fertility` 0 it is 1 for every key, and
    coverage is the sum of the weights so far.

    Cost: O(n·m·h), query by query
    """

    aliases = ("coverage_vector, linguistic_coverage, 覆盖, 覆盖率, 覆盖向量", alias("tu", num_heads=1))
    sequential = True
    whole = True

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        *,
        hidden_dim: HiddenDim = 256,
        fertility: Annotated[NotNegative, Doc("Maximum fertility: target words per source word; 0: one each.")] = 2.0,
    ) -> None:
        super().__init__()
        self.from_query = nn.Linear(query_dim, hidden_dim, bias=False)
        self.from_key = nn.Linear(key_dim, hidden_dim, bias=False)
        self.from_coverage = nn.Linear(1, hidden_dim, bias=False)
        self.to_score = nn.Linear(hidden_dim, 1, bias=False)
        self.to_fertility = nn.Linear(key_dim, 1) if fertility else None
        self.fertility = fertility

    def prepare(self, keys: Tensor) -> Tensor:
        """(..., key, key_dim) → (..., key, hidden_dim + 1): U keys, and the fertility of each."""
        prepared = self.from_key(keys)
        shares = torch.ones_like(prepared[..., :1])
        if self.to_fertility is not None:
            shares = self.fertility * torch.sigmoid(self.to_fertility(keys))
            shares = shares.clamp(min=torch.finfo(shares.dtype).eps)  # rounded to 0 it would make 0/0 of hidden keys
        return torch.cat([prepared, shares], dim=-1)

    def begin(self, queries: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Coverage 0 and fertility, each (..., key)."""
        fertility = memory.keys[..., -1]
        return fertility.new_zeros(fertility.shape, dtype=wide(fertility.dtype)), fertility

    def forward(self, queries: Tensor, prepared: Tensor, past: tuple[Tensor, Tensor]) -> Tensor:
        """(..., query, query_dim) → scores (..., query, key), all with the coverage before the first of them."""
        seen = prepared[..., :-1] + self.from_coverage(past[0].unsqueeze(-1).to(prepared.dtype))
        return additive_scores(self.from_query(queries), seen, self.to_score.weight[0])

    def after(self, past: tuple[Tensor, Tensor], attended: Attended, scores: Any) -> tuple[Tensor, Tensor]:
        coverage, fertility = past
        if attended.weights is None:
            raise ValueError("the coverage of keys needs the weights of each query")
        return coverage + attended.weights.sum(dim=-2) / fertility, fertility
