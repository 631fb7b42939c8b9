"""The additive score of https://arxiv.org/abs/1409.0473, appendix A.1.2, and its normed variant."""

from typing import Annotated, Any

import torch
from torch import Tensor, nn

from regard.aliases import alias
from regard.attention.kernels.chunked import additive_scores
from regard.attention.parts import Score
from regard.config import Doc
from regard.config.common_settings import HiddenDim


class AdditiveScore(Score):
    """v · tanh(W query + U key); U key is computed once per sentence.

    `bias` adds b inside tanh, 0 at the start. `normed` takes g v / |v| for v, g learned, 1 / sqrt(hidden_dim) at the
    start (normed Bahdanau, weight normalisation: https://arxiv.org/abs/1602.07868). Pairs are computed in chunks.

    Cost: O(n·m·h)
    """

    aliases = (
        "tanh_aggregation, 加性",
        alias("bahdanau, rnnsearch", num_heads=1),
        alias("normed_bahdanau", {"normed": True, "bias": True}, num_heads=1),
    )

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        *,
        hidden_dim: HiddenDim = 256,
        bias: Annotated[bool, Doc("Add a bias inside tanh, 0 at the start.")] = False,
        normed: Annotated[bool, Doc("Scale the vector v to a learned length (normed Bahdanau).")] = False,
    ) -> None:
        super().__init__()
        self.from_query = nn.Linear(query_dim, hidden_dim, bias=bias)
        self.from_key = nn.Linear(key_dim, hidden_dim, bias=False)
        self.to_score = nn.Linear(hidden_dim, 1, bias=False)
        self.length = nn.Parameter(torch.tensor(hidden_dim**-0.5)) if normed else None
        if bias:
            nn.init.zeros_(self.from_query.bias)

    def prepare(self, keys: Tensor) -> Tensor:
        """(..., key, key_dim) → U keys (..., key, hidden_dim)."""
        prepared: Tensor = self.from_key(keys)
        return prepared

    def forward(self, queries: Tensor, prepared: Tensor, past: Any) -> Tensor:
        vector = self.to_score.weight[0]
        if self.length is not None:
            vector = self.length * vector / vector.norm()
        return additive_scores(self.from_query(queries), prepared, vector)
