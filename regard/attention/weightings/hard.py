"""Hard attention: a query attends to one sampled key (Xu et al. 2015, https://arxiv.org/abs/1502.03044).

No gradient flows through a sample: the objective `reinforce` trains on its log-probability.
"""

from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from regard.attention.kernels.softmax import masked_softmax
from regard.attention.parts import Memory, View, Weighting
from regard.config import Doc
from regard.config.bounds import Ratio
from regard.ops.functional import wide


def at_largest(values: Tensor, mask: Tensor | None) -> Tensor:
    """values (..., key) → 1 at the largest visible one (the first of equals), else 0; all 0 where no key is visible."""
    if not values.shape[-1]:
        return values
    seen = values if mask is None else values.masked_fill(~mask, float("-inf"))
    chosen = torch.zeros_like(values).scatter(-1, seen.argmax(dim=-1, keepdim=True), 1.0)
    return chosen if mask is None else chosen.masked_fill(~mask, 0.0)


def at_first(memory: Memory, dtype: torch.dtype) -> Tensor:
    """Return (..., key): 1 at the first visible key, else 0."""
    shape = memory.values.shape[:-1]
    if memory.mask is None:
        first = memory.values.new_zeros(shape, dtype=dtype)
        first[..., :1] = 1.0
        return first
    return (memory.mask & (memory.mask.cumsum(dim=-1) == 1)).expand(shape).to(dtype)


class HardWeighting(Weighting):
    """weights_i = one key j sampled with probability exp(score_ij) / sum_j' exp(score_ij') (section 4.1 of the paper).

    In training a row (a sentence, or a head of one) is soft with `soft_probability`: these probabilities are its
    weights. At inference the most probable key is taken, or one sampled. Terms: log_prob of the sampled key (0 for
    a soft row), and entropy.

    Cost: O(n·m)
    """

    aliases = "stochastic_hard, 硬, 硬性"

    def __init__(
        self,
        query_dim: int,
        *,
        soft_probability: Annotated[Ratio, Doc("Probability of soft attention in training, by row.")] = 0.5,
        inference: Annotated[
            Literal["argmax", "sample"], Doc("At inference, take the most probable key (argmax) or sample one.")
        ] = "argmax",
    ) -> None:
        super().__init__()
        self.soft_probability, self.inference, self.only_samples = soft_probability, inference, soft_probability == 0

    def begin(self, queries: Tensor, memory: Memory) -> Tensor | None:
        """Return the mask (...) of the rows that stay soft; None: all are hard."""
        if not (self.training and self.soft_probability):
            return None
        return torch.rand(queries.shape[:-2], device=queries.device) < self.soft_probability

    def forward(self, scores: Tensor, view: View, queries: Tensor, past: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """scores (..., query, key) → weights of the same shape; terms (..., query)."""
        shares = masked_softmax(scores, view.mask)
        sampled = self.training or self.inference == "sample"
        weights = at_largest(_raced(shares.detach()) if sampled else scores.detach(), view.mask).to(shares.dtype)
        chosen = (shares * weights).sum(dim=-1)
        log_prob = chosen.masked_fill(chosen == 0, 1.0).log()
        if past is not None:
            soft = past.reshape(past.shape + (1,) * (log_prob.dim() - past.dim()))
            weights, log_prob = torch.where(soft.unsqueeze(-1), shares, weights), log_prob.masked_fill(soft, 0.0)
        entropy = -(shares * shares.masked_fill(shares == 0, 1.0).log()).sum(dim=-1)
        return weights, {"log_prob": log_prob, "entropy": entropy}


def _raced(shares: Tensor) -> Tensor:
    """Return share / Exponential(1): its maximum is at each key with probability share."""
    shares = shares.to(wide(shares.dtype))
    return shares / torch.empty_like(shares).exponential_()
