"""Training that begins without the softmax: "linear start" of https://arxiv.org/abs/1503.08895, section 4.2."""

from typing import Annotated, Any

from torch import Tensor

from regard.attention.kernels.softmax import masked_softmax
from regard.attention.parts import View, Weighting
from regard.config import Doc
from regard.config.bounds import Ratio


class LinearStartWeighting(Weighting):
    """weights_i = w · softmax(scores)_i + (1 - w) · score_i in training; in use the softmax.

    A schedule drives `softmax_weight` w from 0 up (`delayed`: the paper's, without softmax until an update), so that
    gradients reach every key from the start.

    Cost: O(n·m)
    """

    def __init__(
        self,
        query_dim: int,
        *,
        softmax_weight: Annotated[Ratio, Doc("Weight of the softmax; a schedule may set it.")] = 1.0,
    ) -> None:
        super().__init__()
        self.softmax_weight = softmax_weight

    def forward(self, scores: Tensor, view: View, queries: Tensor, past: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """scores (..., query, key) → weights of the same shape."""
        if not self.training or self.softmax_weight == 1.0:
            return masked_softmax(scores, view.mask), {}
        plain = scores if view.mask is None else scores.masked_fill(~view.mask, 0.0)
        if self.softmax_weight == 0.0:
            return plain, {}
        return self.softmax_weight * masked_softmax(scores, view.mask) + (1 - self.softmax_weight) * plain, {}
