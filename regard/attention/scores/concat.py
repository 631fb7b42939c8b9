"""Query and key side by side: "concat" of https://arxiv.org/abs/1508.04025, section 3.1, and its linear form."""

from typing import Annotated, Any, Literal

import torch
from torch import Tensor, nn

from regard.aliases import alias
from regard.attention.kernels.chunked import additive_scores
from regard.attention.parts import Score
from regard.config import Doc
from regard.config.bounds import Size


class ConcatScore(Score):
    """v · tanh(W [query; key]); W is split, so that keys are projected once per sentence.

    With activation "none" it is w · [query; key], without W and `hidden_dim`: the query adds the same number to the
    score of every key, a softmax cancels it, and all queries have the same weights.

    Cost: O(n·m·h)
    """

    aliases = (
        "concatenation, 拼接, 串联",
        alias("luong_concat", num_heads=1),
        alias("concat_inner_product, concat_then_inner_product, linear_concat", {"activation": "none"}),
    )

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        *,
        hidden_dim: Annotated[Size, Doc("Width of the hidden layer; unused if the activation is none.")] = 256,
        activation: Annotated[Literal["tanh", "none"], Doc("Activation of the hidden layer.")] = "tanh",
    ) -> None:
        super().__init__()
        width = hidden_dim if activation == "tanh" else 1
        self.from_query = nn.Linear(query_dim, width, bias=False)
        self.from_key = nn.Linear(key_dim, width, bias=False)
        self.to_score = nn.Linear(hidden_dim, 1, bias=False) if activation == "tanh" else None

    def prepare(self, keys: Tensor) -> Tensor:
        """(..., key, key_dim) → the keys' term of W [query; key] (..., key, hidden_dim)."""
        prepared: Tensor = self.from_key(keys)
        return prepared

    def forward(self, queries: Tensor, prepared: Tensor, past: Any) -> Tensor:
        ours: Tensor = self.from_query(queries)
        if self.to_score is None:
            return ours + prepared.transpose(-2, -1)
        return additive_scores(ours, prepared, self.to_score.weight[0])

    def inner(self, queries: Tensor, prepared: Tensor, past: Any) -> tuple[Tensor, Tensor] | None:
        """[w query; 1] and [1; w key] of the linear form."""
        if self.to_score is not None:
            return None
        ours = self.from_query(queries)
        return torch.cat([ours, torch.ones_like(ours)], dim=-1), torch.cat(
            [torch.ones_like(prepared), prepared], dim=-1
        )
