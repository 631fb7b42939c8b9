"""Soft attention: the weights of a row are a distribution (https://arxiv.org/abs/1409.0473, equation 6)."""

from typing import Any

from torch import Tensor

from regard.attention.kernels.softmax import masked_softmax
from regard.attention.parts import View, Weighting


class SoftmaxWeighting(Weighting):
    """weights_ij = exp(score_ij) / sum_j' exp(score_ij') over what is seen.

    Cost: O(n·m)
    """

    aliases = "normalised, normalized"
    softmax = True

    def forward(self, scores: Tensor, view: View, queries: Tensor, past: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """scores (..., query, key) → weights of the same shape."""
        return masked_softmax(scores, view.mask), {}
