"""Attention that leaves most keys out (Martins and Astudillo 2016, https://arxiv.org/abs/1602.02068)."""

from typing import Any

from torch import Tensor

from regard.attention.parts import View, Weighting
from regard.attention.weightings.projection import project


class SparsemaxWeighting(Weighting):
    """weights_i = argmin over distributions p of |p - scores_i|²: the nearest one, with many weights exactly 0.

    Cost: O(n·m·log m)
    """

    aliases = "sparse_softmax"

    def forward(self, scores: Tensor, view: View, queries: Tensor, past: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """scores (..., query, key) → weights of the same shape."""
        return project(scores, view.mask, 2.0), {}
