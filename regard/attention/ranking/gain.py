"""Discounted cumulative gain: expected, for training, and of a list (https://doi.org/10.1145/582415.582418)."""

import torch
from torch import Tensor


def expected_dcg(weights: Tensor, relevance: Tensor) -> Tensor:
    """sum_p sum_j weights_pj (2^relevance_j - 1) / log2(p + 2), p from 0: weights (..., place, result) → (...)."""
    gains = (weights @ (2**relevance - 1).unsqueeze(-1)).squeeze(-1)
    return (gains * _discounts(gains)).sum(dim=-1)


def ndcg(ordered: Tensor, relevance: Tensor, mask: Tensor | None = None, *, at: int = 5) -> Tensor:
    """DCG of the first `at` places over the best there is; 1 where nothing is relevant.

    ordered (..., place) as `order` gives it, relevance (..., result) → (...).
    """
    gains = 2**relevance - 1
    gains = gains if mask is None else gains.masked_fill(~mask, 0.0)
    found = gains.gather(-1, ordered[..., :at].clamp(min=0)).masked_fill(ordered[..., :at] < 0, 0.0)
    best = gains.sort(dim=-1, descending=True).values[..., : min(at, ordered.shape[-1])]
    reached, possible = ((some * _discounts(some)).sum(dim=-1) for some in (found, best))
    return torch.where(possible > 0, reached / possible.clamp(min=torch.finfo(possible.dtype).tiny), 1.0)


def _discounts(gains: Tensor) -> Tensor:
    return 1 / torch.arange(2, gains.shape[-1] + 2, device=gains.device, dtype=gains.dtype).log2()
