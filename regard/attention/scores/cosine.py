"""The angle between query and key, sharpened: equations 5 and 6 of https://arxiv.org/abs/1410.5401."""

import math
from typing import Annotated, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.aliases import alias
from regard.attention.addressing import unit
from regard.attention.parts import Score
from regard.attention.scores.dot import need_equal
from regard.config import Doc
from regard.config.bounds import Positive


class CosineScore(Score):
    """beta query · key / (|query| |key|), between -beta and beta. Needs query_dim = key_dim.

    beta = softplus of a learned number, `beta` at the start, or fixed. With 1 a softmax is nearly even: the largest
    weight is at most e² = 7.4 times the least. A vector of zeros scores 0 and gets no gradient.

    Cost: O(n·m·d)
    """

    aliases = (
        "cosine_similarity, cos, 余弦, 余弦相似度, content_based_addressing",
        alias("content, content_based", note="the cosine of Graves et al. 2014 (others mean any score)"),
    )

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        *,
        beta: Annotated[Positive, Doc("Scale factor; its initial value if it is learned.")] = 1.0,
        learned: Annotated[bool, Doc("Learn the scale factor.")] = True,
    ) -> None:
        super().__init__()
        need_equal(query_dim, key_dim)
        start = torch.tensor(beta + math.log(-math.expm1(-beta)))  # softplus of it is beta
        self.sharpness = nn.Parameter(start) if learned else None
        self.beta = beta

    def prepare(self, keys: Tensor) -> Tensor:
        """(..., key, dim) → the same, of length 1."""
        return unit(keys)

    def forward(self, queries: Tensor, prepared: Tensor, past: Any) -> Tensor:
        """(..., query, dim) and prepared keys → scores (..., query, key)."""
        ours, theirs = self.inner(queries, prepared, past)
        return ours @ theirs.transpose(-2, -1)

    def inner(self, queries: Tensor, prepared: Tensor, past: Any) -> tuple[Tensor, Tensor]:
        beta = self.beta if self.sharpness is None else functional.softplus(self.sharpness)
        return unit(queries) * beta, prepared
