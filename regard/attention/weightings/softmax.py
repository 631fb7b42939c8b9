"""Soft attention: the weights of a row are a distribution (https://arxiv.org/abs/1409.0473, equation 6)."""

from typing import Annotated, Any, Literal

from torch import Tensor

from regard.attention.kernels.softmax import masked_softmax
from regard.attention.parts import View, Weighting
from regard.config import Doc
from regard.ops.functional import wide

_SUBTRACTED = 1e10  # from the scores of hidden keys


class SoftmaxWeighting(Weighting):
    """weights_ij = exp(score_ij) / sum_j' exp(score_ij') over what is seen.

    mask_mode "exclude": a query that sees no key has zero weights. "subtract", as some Keras code has it: 1e10 is
    subtracted from the scores of hidden keys. Where some key is seen the weights are the same; a query that sees none
    weighs all keys, equally in float32 and by their scores in float64. It has no fast path.

    Cost: O(n·m)
    """

    aliases = "normalised, normalized"
    softmax = True

    def __init__(
        self,
        query_dim: int,
        *,
        mask_mode: Annotated[
            Literal["exclude", "subtract"],
            Doc("Hidden keys: excluded from the softmax, or 1e10 subtracted from their scores."),
        ] = "exclude",
    ) -> None:
        super().__init__()
        self.softmax = mask_mode == "exclude"

    def forward(self, scores: Tensor, view: View, queries: Tensor, past: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """scores (..., query, key) → weights of the same shape."""
        if self.softmax or view.mask is None:
            return masked_softmax(scores, view.mask), {}
        exact = scores.to(wide(scores.dtype)) - _SUBTRACTED * ~view.mask
        return exact.softmax(dim=-1).to(scores.dtype), {}
