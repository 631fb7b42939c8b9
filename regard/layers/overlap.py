"""What two texts have in common before any network reads them (https://arxiv.org/abs/1512.05193, section 5.3)."""

import torch
from torch import Tensor

from regard.records import Sequences

NUM_OVERLAPS = 3


def overlaps(first: Sequences, second: Sequences, *, ordered: bool = True) -> Tensor:
    """ids (batch, n) and (batch, m) → (batch, 3).

    The share of the first text's pieces that the second one has, the share of the second's that the first one has, and
    (n - m) / (n + m). Without `ordered` the texts can be swapped: the smaller share, the larger one, |n - m| / (n + m).
    """
    equal = first.items.unsqueeze(-1) == second.items.unsqueeze(-2)
    equal = equal & first.mask.unsqueeze(-1) & second.mask.unsqueeze(-2)
    n, m = (one.mask.sum(dim=-1) for one in (first, second))
    shares = equal.any(dim=-1).sum(dim=-1) / n.clamp(min=1), equal.any(dim=-2).sum(dim=-1) / m.clamp(min=1)
    difference = (n - m) / (n + m).clamp(min=1)
    if not ordered:
        shares, difference = (torch.minimum(*shares), torch.maximum(*shares)), difference.abs()
    return torch.stack([*shares, difference], dim=-1)
