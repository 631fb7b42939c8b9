"""The score of the aligned question embedding of DrQA: https://arxiv.org/abs/1704.00051, section 3.2."""

from typing import Annotated, Any

import torch
from torch import Tensor, nn

from regard.attention.parts import Score
from regard.attention.scores.dot import need_equal
from regard.config import Doc
from regard.config.bounds import Size


class ReluDotScore(Score):
    """relu(W query) · relu(W key), one W for both. Needs query_dim = key_dim.

    W is (hidden_dim, dim), by default (dim, dim); `bias` adds b inside relu. Scores are never negative.

    Cost: O(n·m·h)
    """

    aliases = "drqa"

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        *,
        hidden_dim: Annotated[Size | None, Doc("Width of the projection; null: the width of the query.")] = None,
        bias: Annotated[bool, Doc("Add a bias inside relu.")] = False,
    ) -> None:
        super().__init__()
        need_equal(query_dim, key_dim)
        self.shared = nn.Linear(query_dim, query_dim if hidden_dim is None else hidden_dim, bias=bias)

    def prepare(self, keys: Tensor) -> Tensor:
        """(..., key, dim) → relu(W keys) (..., key, hidden_dim)."""
        return torch.relu(self.shared(keys))

    def forward(self, queries: Tensor, prepared: Tensor, past: Any) -> Tensor:
        """(..., query, dim) and prepared keys → scores (..., query, key)."""
        ours, theirs = self.inner(queries, prepared, past)
        return ours @ theirs.transpose(-2, -1)

    def inner(self, queries: Tensor, prepared: Tensor, past: Any) -> tuple[Tensor, Tensor]:
        return torch.relu(self.shared(queries)), prepared
