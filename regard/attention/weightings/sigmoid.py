"""Each key weighed by itself (structured attention with independent selections, https://arxiv.org/abs/1702.00887)."""

from typing import Any

from torch import Tensor

from regard.attention.parts import View, Weighting


class SigmoidWeighting(Weighting):
    """weights_ij = sigmoid(score_ij): keys do not compete, so a query may attend to many keys or to none.

    Cost: O(n·m)
    """

    aliases = "independent"
    normalised = False

    def forward(self, scores: Tensor, view: View, queries: Tensor, past: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """scores (..., query, key) → weights of the same shape."""
        weights = scores.sigmoid()
        return weights if view.mask is None else weights.masked_fill(~view.mask, 0.0), {}
