"""The additive score of https://arxiv.org/abs/1409.0473, appendix A.1.2; "concat" of Luong et al. 2015 is the same."""

from typing import Any

import torch
from torch import Tensor, nn

from regard.attention.parts import Score


class AdditiveScore(Score):
    """v · tanh(W query + U key); U key is computed once per sentence. `bias` adds b inside the tanh."""

    def __init__(self, query_dim: int, key_dim: int, *, hidden_dim: int = 256, bias: bool = False) -> None:
        super().__init__()
        self.from_query = nn.Linear(query_dim, hidden_dim, bias=bias)
        self.from_key = nn.Linear(key_dim, hidden_dim, bias=False)
        self.to_score = nn.Linear(hidden_dim, 1, bias=False)

    def prepare(self, keys: Tensor) -> Tensor:
        """(..., key, key_dim) → U keys (..., key, hidden_dim)."""
        prepared: Tensor = self.from_key(keys)
        return prepared

    def forward(self, queries: Tensor, prepared: Tensor, past: Any) -> Tensor:
        """(..., query, query_dim) and prepared keys → scores (..., query, key)."""
        hidden = torch.tanh(self.from_query(queries)[..., :, None, :] + prepared[..., None, :, :])
        scores: Tensor = self.to_score(hidden).squeeze(-1)
        return scores
