"""Gumbel-softmax: differentiable sampling (Jang et al. 2017, https://arxiv.org/abs/1611.01144)."""

from typing import Annotated, Any

import torch
from torch import Tensor

from regard.aliases import alias
from regard.attention.kernels.softmax import masked_softmax
from regard.attention.parts import View, Weighting
from regard.attention.weightings.hard import at_largest
from regard.config import Doc
from regard.config.bounds import Positive
from regard.ops.functional import wide

_COLDEST = 1e-3  # a schedule may end at 0


class GumbelWeighting(Weighting):
    """weights_i = softmax((scores_i + g) / temperature), g = -log(-log u), u uniform (equation 2 of the paper).

    In training u is sampled for each query, and a schedule may set the `temperature`. With `straight_through` one key
    has all the weight, with the gradient of the softmax (section 2.2). At inference: the largest score.

    Cost: O(n·m)
    """

    aliases = (
        "gumbel_softmax, concrete, 耿贝尔",
        alias("straight_through, straight_through_gumbel", {"straight_through": True}),
    )

    def __init__(
        self,
        query_dim: int,
        *,
        temperature: Annotated[Positive, Doc("Softmax temperature: low is near one-hot, high is near uniform.")] = 1.0,
        straight_through: Annotated[
            bool, Doc("Straight-through estimator: one-hot weights forward, softmax gradients backward.")
        ] = False,
    ) -> None:
        super().__init__()
        self.temperature, self.straight_through = temperature, straight_through

    def forward(self, scores: Tensor, view: View, queries: Tensor, past: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """scores (..., query, key) → weights of the same shape."""
        if not self.training:
            return at_largest(scores.detach(), view.mask), {}
        exact = scores.to(wide(scores.dtype))
        noise = torch.empty_like(exact).exponential_().log()  # -g
        soft = masked_softmax((exact - noise) / max(self.temperature, _COLDEST), view.mask)
        if self.straight_through:
            soft = at_largest(soft.detach(), view.mask) + (soft - soft.detach())
        return soft.to(scores.dtype), {}
