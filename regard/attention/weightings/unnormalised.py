"""Weights that are the scores themselves: linear attention without a feature map (https://arxiv.org/abs/2006.16236)."""

from typing import Any

from torch import Tensor

from regard.aliases import alias
from regard.attention.parts import View, Weighting


class UnnormalisedWeighting(Weighting):
    """weights_ij = score_ij. With a product as score, (Q Kᵀ) V = Q (Kᵀ V).

    Cost: O(n·m)
    """

    aliases = (
        "unnormalized",
        alias("linear, 线性", note="weights without softmax (others mean score concat with activation 'none')"),
        alias("none", note="weights that are the scores (a recurrent decoder without attention: source_context final)"),
    )
    normalised = False
    signed = True

    def forward(self, scores: Tensor, view: View, queries: Tensor, past: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """scores (..., query, key) → weights of the same shape."""
        return scores if view.mask is None else scores.masked_fill(~view.mask, 0.0), {}
