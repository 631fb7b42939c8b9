"""Addressing a memory of slots by content and by location: Neural Turing Machines, arXiv:1410.5401, section 3.3.

Pure functions of distributions over the slots; each keeps a distribution a distribution. Leading axes are open.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from regard.attention.kernels.softmax import masked_softmax

EPSILON = 1e-8  # the least length that a vector is divided by
SHARPEST = 1e4  # a larger strength or sharpness makes no difference, but its gradient may overflow


class Address(NamedTuple):
    """Address that a controller gives a head."""

    key: Tensor  # (..., dim): content to find
    strength: Tensor  # (...), positive: sharpness of the content weights
    gate: Tensor  # (...) in [0, 1]: weight of the content; 1 - gate: weight of the head's position before
    shares: Tensor  # (..., 2 radius + 1), a distribution over the steps aside
    gamma: Tensor  # (...), at least 1: sharpening, which undoes the blur of the shift


def weights_at(address: Address, slots: Tensor, before: Tensor, mask: Tensor | None = None) -> Tensor:
    """Address by content, then gate, shift and sharpen. slots (..., slot, dim), before and mask (..., slot)."""
    content = by_content(address.key, slots, address.strength, mask)
    gated = interpolate(content, before, address.gate)
    return sharpen(shift(gated, address.shares, mask), address.gamma)


def by_content(key: Tensor, slots: Tensor, strength: Tensor, mask: Tensor | None = None) -> Tensor:
    """w_i = softmax_i(strength · cos(key, slot_i)) (equation 5).

    key (..., dim), slots (..., slot, dim), strength (...), mask (..., slot) → weights (..., slot).
    """
    alike = unit(slots) @ unit(key).unsqueeze(-1)
    return masked_softmax(strength.unsqueeze(-1) * alike.squeeze(-1), mask)


def unit(vectors: Tensor) -> Tensor:
    """(..., dim) → the same, of length 1. Zeros stay zeros and pass no gradient, which would be 1/EPSILON."""
    length = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    least = max(EPSILON, torch.finfo(vectors.dtype).tiny)
    return (vectors / length.clamp(min=least)).masked_fill(length == 0, 0.0)


def positive(numbers: Tensor) -> Tensor:
    """Return softplus, at most SHARPEST: a strength, or gamma - 1, from the output of a controller."""
    return functional.softplus(numbers).clamp(max=SHARPEST)


def interpolate(weights: Tensor, before: Tensor, gate: Tensor) -> Tensor:
    """gate · weights + (1 - gate) · before (equation 7); both (..., slot), gate (...) in [0, 1]."""
    return torch.lerp(before, weights, gate.unsqueeze(-1))


def shift(weights: Tensor, shares: Tensor, mask: Tensor | None = None) -> Tensor:
    """w'_i = sum_o shares_o · w_((i - o) mod N), o = -radius … radius (equation 8): the weight at i - o moves to i.

    weights (..., slot); shares (..., 2 radius + 1), a distribution; mask (..., slot) or None. The circle consists of
    the visible slots alone, in their order; hidden slots give and get no weight.
    """
    num_slots, width = weights.shape[-1], shares.shape[-1]
    if width % 2 == 0:
        raise ValueError(f"{width} shares have no middle: give 2 radius + 1 of them")
    offsets = torch.arange(width, device=weights.device) - width // 2
    if mask is None:
        origin = (torch.arange(num_slots, device=weights.device).unsqueeze(-1) - offsets).remainder(max(num_slots, 1))
    else:
        origin = _origin_among(mask, offsets)
        weights = weights.masked_fill(~mask, 0.0)
    index = origin.expand(*weights.shape, width).flatten(-2)
    moved = (weights.gather(-1, index).unflatten(-1, (num_slots, width)) @ shares.unsqueeze(-1)).squeeze(-1)
    return moved if mask is None else moved.masked_fill(~mask, 0.0)


def sharpen(weights: Tensor, gamma: Tensor) -> Tensor:
    """w_i^gamma / sum_j w_j^gamma (equation 9); weights (..., slot), gamma (...) at least 1. All 0 stays all 0."""
    largest = weights.detach().amax(dim=-1, keepdim=True) if weights.shape[-1] else weights.new_ones(())
    scaled = weights / torch.where(largest > 0, largest, 1.0)  # cancels; without it w^gamma of many slots is 0/0
    powers = scaled.clamp(min=0.0) ** gamma.unsqueeze(-1)
    total = powers.sum(dim=-1, keepdim=True)
    return powers / torch.where(total > 0, total, 1.0)


def _origin_among(mask: Tensor, offsets: Tensor) -> Tensor:
    """mask (..., slot), offsets (width) → (..., slot, width): the origin of each slot, `offset` visible slots away."""
    rank = mask.cumsum(dim=-1) - 1
    shown_first = (~mask).to(torch.uint8).argsort(dim=-1, stable=True)
    count = mask.sum(dim=-1, keepdim=True).clamp(min=1).unsqueeze(-1)
    wanted = (rank.unsqueeze(-1) - offsets).remainder(count)
    return shown_first.gather(-1, wanted.flatten(-2)).unflatten(-1, wanted.shape[-2:])
