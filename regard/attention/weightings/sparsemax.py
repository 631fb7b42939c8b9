"""Attention that leaves most keys out (Martins and Astudillo 2016, https://arxiv.org/abs/1602.02068)."""

from typing import Any

import torch
from torch import Tensor

from regard.attention.parts import View, Weighting
from regard.ops.functional import wide


def project(scores: Tensor, mask: Tensor | None, alpha: float) -> Tensor:
    """scores (..., key) → weights, 0 where hidden; all 0 where nothing is seen. 1 < alpha <= 2.

    Exact, by sorting, for alpha 2 and 1.5; else by halving an interval until it is as small as a rounding.
    """
    if not scores.shape[-1]:
        return scores
    exact = scores.to(wide(scores.dtype))
    projected: Any = _Projection
    weights: Tensor = projected.apply(exact, mask, alpha)
    return weights.to(scores.dtype)


class _Projection(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, mask: Tensor | None, alpha: float) -> Tensor:
        seen = scores if mask is None else scores.masked_fill(~mask, float("-inf"))
        top = seen.amax(dim=-1, keepdim=True)
        # what lies 1 below the top weighs nothing, as no key weighs more than 1: so large and hidden scores do no harm
        reach = ((seen - top.masked_fill(top.isneginf(), 0.0)) * (alpha - 1)).clamp(min=-1.0)
        weights = (reach - _threshold(reach, alpha).clamp(min=-1.0)).clamp(min=0.0) ** (1 / (alpha - 1))
        weights = weights / weights.sum(dim=-1, keepdim=True)
        if mask is not None:
            weights = weights.masked_fill(~mask, 0.0)
        ctx.save_for_backward(weights)
        ctx.alpha = alpha
        return weights

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        """The Jacobian is diag(s) - s sᵀ / sum(s), s = weights^(2 - alpha) on the support (proposition 2)."""
        (weights,) = ctx.saved_tensors
        inside = weights > 0
        slopes = weights.masked_fill(~inside, 1.0) ** (2 - ctx.alpha) * inside
        total = slopes.sum(dim=-1, keepdim=True)
        mean = (slopes * gradients[0]).sum(dim=-1, keepdim=True) / total.masked_fill(total == 0, 1.0)
        return slopes * (gradients[0] - mean), None, None


def _threshold(reach: Tensor, alpha: float) -> Tensor:
    """(..., 1), for scores times alpha - 1, the largest 0 and the least -1."""
    if alpha == 2.0:
        return _sorted_threshold(reach)
    return _sorted_threshold_of_roots(reach) if alpha == 1.5 else _halved_threshold(reach, alpha)


def _sorted_threshold(reach: Tensor) -> Tensor:
    """alpha 2: the mean of those inside, less 1 / their number (https://arxiv.org/abs/1602.02068, algorithm 1)."""
    ranked, count = _ranked(reach)
    sums = ranked.cumsum(dim=-1)
    inside = (1 + count * ranked > sums).sum(dim=-1, keepdim=True)
    last = (inside - 1).clamp(min=0)  # none is inside where a score is NaN
    return (sums.gather(-1, last) - 1) / inside


def _sorted_threshold_of_roots(reach: Tensor) -> Tensor:
    """alpha 1.5: sum (reach - threshold)² = 1 is a quadratic equation for those inside (algorithm 2 there)."""
    ranked, count = _ranked(reach)
    mean = ranked.cumsum(dim=-1) / count
    variance = ranked.square().cumsum(dim=-1) / count - mean.square()
    thresholds = mean - (1 / count - variance).clamp(min=0.0).sqrt()
    inside = (thresholds <= ranked).sum(dim=-1, keepdim=True)
    return thresholds.gather(-1, (inside - 1).clamp(min=0))


def _halved_threshold(reach: Tensor, alpha: float) -> Tensor:
    """Any alpha: the weights' sum falls from at least 1 to at most 1 between these two ends (algorithm 1 there)."""
    low = torch.full_like(reach[..., :1], -1.0)
    high = torch.full_like(low, -(reach.shape[-1] ** (1 - alpha)))
    for _ in range(60 if reach.dtype == torch.float64 else 30):
        middle = (low + high) / 2
        heavy = ((reach - middle).clamp(min=0.0) ** (1 / (alpha - 1))).sum(dim=-1, keepdim=True) >= 1
        low, high = torch.where(heavy, middle, low), torch.where(heavy, high, middle)
    return low


def _ranked(reach: Tensor) -> tuple[Tensor, Tensor]:
    count = torch.arange(1, reach.shape[-1] + 1, device=reach.device, dtype=reach.dtype)
    return reach.sort(dim=-1, descending=True).values, count


class SparsemaxWeighting(Weighting):
    """weights_i = argmin over distributions p of |p - scores_i|²: the nearest one, with many weights exactly 0.

    Cost: O(n·m·log m)
    """

    aliases = "sparse_softmax"

    def forward(self, scores: Tensor, view: View, queries: Tensor, past: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """scores (..., query, key) → weights of the same shape."""
        return project(scores, view.mask, 2.0), {}
