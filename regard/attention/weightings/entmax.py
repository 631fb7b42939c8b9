"""Between softmax and sparsemax (Peters, Niculae and Martins 2019, https://arxiv.org/abs/1905.05702)."""

from typing import Annotated, Any

from annotated_types import Gt, Le
from torch import Tensor

from regard.attention.parts import View, Weighting
from regard.attention.weightings.sparsemax import project
from regard.config import Doc


class EntmaxWeighting(Weighting):
    """weights_ij = [(alpha - 1) score_ij - threshold_i]_+ ^ (1 / (alpha - 1)), the threshold such that they sum to 1.

    alpha 2 is sparsemax, alpha → 1 softmax; 1.5, the paper's choice, is computed exactly.

    Cost: O(n·m·log m)
    """

    aliases = "entmax_1.5, alpha_entmax"

    def __init__(
        self,
        query_dim: int,
        *,
        alpha: Annotated[
            float, Gt(1), Le(2), Doc("Sparsity of entmax (alpha): 2 is sparsemax, near 1 it is softmax.")
        ] = 1.5,
    ) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, scores: Tensor, view: View, queries: Tensor, past: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """scores (..., query, key) → weights of the same shape."""
        return project(scores, view.mask, self.alpha), {}
