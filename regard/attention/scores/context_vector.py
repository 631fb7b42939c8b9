"""A learned context vector in place of the query: https://aclanthology.org/N16-1174, equations 5 and 6."""

from typing import Annotated, Any

import torch
from torch import Tensor, nn

from regard.aliases import alias
from regard.attention.parts import Score
from regard.config import Doc
from regard.config.common_settings import HiddenDim

_STD = 0.1  # of the weights at the start


class ContextVectorScore(Score):
    """u · tanh(W key + b), u learned; one number per key, computed once per sentence: the query is not used.

    This is "static" attention: every query gets the same weights. To summarise a text as one vector, use the pooling
    'attention', which has one query per text.

    Cost: O(m·d·h), once per sentence
    """

    aliases = (
        "trainable_context_vector",
        alias("static, 静态", note="a learned vector as query (for a summary of one text: pooling 'attention')"),
    )

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        *,
        hidden_dim: HiddenDim = 256,
        bias: Annotated[bool, Doc("Add a bias inside tanh.")] = True,
    ) -> None:
        super().__init__()
        self.from_key = nn.Linear(key_dim, hidden_dim, bias=bias)
        self.to_score = nn.Linear(hidden_dim, 1, bias=False)
        for linear in (self.from_key, self.to_score):
            nn.init.normal_(linear.weight, std=_STD)
        if bias:
            nn.init.zeros_(self.from_key.bias)

    def prepare(self, keys: Tensor) -> Tensor:
        """(..., key, key_dim) → their scores (..., key, 1)."""
        prepared: Tensor = self.to_score(torch.tanh(self.from_key(keys)))
        return prepared

    def forward(self, queries: Tensor, prepared: Tensor, past: Any) -> Tensor:
        scores = prepared.transpose(-2, -1)
        return scores.expand(*scores.shape[:-2], queries.shape[-2], -1)

    def inner(self, queries: Tensor, prepared: Tensor, past: Any) -> tuple[Tensor, Tensor]:
        """1 for each query, and the scores of the keys."""
        return queries.new_ones(*queries.shape[:-1], 1), prepared
