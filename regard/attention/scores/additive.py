"""The additive score of https://arxiv.org/abs/1409.0473, appendix A.1.2; "concat" of Luong et al. 2015 is the same."""

from typing import Any, Literal

import torch
from torch import Tensor, nn

from regard.attention.parts import Score


class AdditiveScore(Score):
    """v · f(W query + U key), f = tanh; U key is computed once per sentence. `bias` adds b inside f.

    "concat", v · tanh(W' [query; key]), is the same with W' = [W U]. With activation "none" it is an inner product
    with [query; key]: a softmax then cancels what the query adds to every key, so each query looks at the same.
    """

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        *,
        hidden_dim: int = 256,
        bias: bool = False,
        activation: Literal["tanh", "none"] = "tanh",
    ) -> None:
        super().__init__()
        self.activation = torch.tanh if activation == "tanh" else nn.Identity()
        self.from_query = nn.Linear(query_dim, hidden_dim, bias=bias)
        self.from_key = nn.Linear(key_dim, hidden_dim, bias=False)
        self.to_score = nn.Linear(hidden_dim, 1, bias=False)

    def prepare(self, keys: Tensor) -> Tensor:
        """(..., key, key_dim) → U keys (..., key, hidden_dim)."""
        prepared: Tensor = self.from_key(keys)
        return prepared

    def forward(self, queries: Tensor, prepared: Tensor, past: Any) -> Tensor:
        """(..., query, query_dim) and prepared keys → scores (..., query, key)."""
        hidden = self.activation(self.from_query(queries)[..., :, None, :] + prepared[..., None, :, :])
        scores: Tensor = self.to_score(hidden).squeeze(-1)
        return scores
