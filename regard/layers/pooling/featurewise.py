"""Feature-wise attention: every feature has its own distribution over time.

Known from a widely copied layer that intends attention with a context vector u but omits the product with u;
`AttentionPooling` is the corrected form. The same idea on purpose: source2token attention, arXiv:1709.04696.
"""

from typing import Annotated, Any

import torch
from torch import Tensor, nn

from regard.attention import OWN, Attention, Role, View, Weighting, stamped
from regard.attention.scores.dot import DotScore
from regard.attention.spans.everywhere import EverywhereSpan
from regard.attention.weightings.softmax import SoftmaxWeighting
from regard.config import Doc
from regard.config.bounds import NotNegative
from regard.layers.pooling.pooling import Pooling


class FeaturewisePooling(Pooling):
    """sum_t a_tf states_tf, a = exp(U) / (sum_t exp(U) + eps), U = tanh(states W + b): `dim` heads of width one.

    With eps 0 it is a softmax over time for each feature. Weights are (batch, feature, 1, n) for `recording`.

    Cost: O(m·d²)
    """

    aliases = "featurewise_static, multi_dimensional, source2token"

    def __init__(
        self, dim: int, *, eps: Annotated[NotNegative, Doc("Epsilon, for numerical stability.")] = 1e-7
    ) -> None:
        super().__init__()
        self.out_dim = dim
        self.to_scores = nn.Linear(dim, dim)
        weighting = _Damped(eps) if eps else SoftmaxWeighting(1)
        self.attention = stamped(Attention(DotScore(1, 1), EverywhereSpan(1, 1), weighting), Role(keys=OWN))
        nn.init.xavier_uniform_(self.to_scores.weight)
        nn.init.zeros_(self.to_scores.bias)

    def forward(self, states: Tensor, mask: Tensor | None = None, query: Tensor | None = None) -> Tensor:
        """states (batch, n, dim) → (batch, dim)."""
        scores = torch.tanh(self.to_scores(states))
        keys, values = (one.transpose(1, 2).unsqueeze(-1) for one in (scores, states))  # (batch, feature, n, 1)
        memory = self.attention.remember(keys, values, None if mask is None else mask.unsqueeze(1))
        context: Tensor = self.attention(states.new_ones(len(states), self.out_dim, 1, 1), memory).context
        return context.flatten(1)


class _Damped(Weighting):
    """exp(score) / (sum exp(score) + eps): a softmax a little short of one. For scores in [-1, 1]: exp is not tamed."""

    normalised = False

    def __init__(self, eps: float) -> None:
        super().__init__()
        self.eps = eps

    def forward(self, scores: Tensor, view: View, queries: Tensor, past: Any) -> tuple[Tensor, dict[str, Tensor]]:
        weights = scores.exp() if view.mask is None else scores.exp().masked_fill(~view.mask, 0.0)
        return weights / (weights.sum(dim=-1, keepdim=True) + self.eps), {}
