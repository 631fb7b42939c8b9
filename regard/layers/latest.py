"""What a layer that looks back keeps of the rows it has read: of each its last places that are no padding."""

import torch
from torch import Tensor


def latest(seen: Tensor, mask: Tensor | None, count: int) -> Tensor:
    """The last `count` of each row of seen (batch, count + n, dim) that are no padding; mask (batch, n) ends rows."""
    if mask is None:
        return seen[:, seen.shape[1] - count :]
    places = mask.sum(dim=1, keepdim=True) + torch.arange(count, device=seen.device)
    return seen.gather(1, places.unsqueeze(-1).expand(-1, -1, seen.shape[-1]))


def gathered(shown: Tensor, count: int | None, *kept: Tensor) -> tuple[Tensor, ...]:
    """What is shown of each of kept (batch, key, …), moved to the end, `count` places at most, and these shown or not.

    So the next follow on them. What is left of padding is hidden, and zero.
    """
    order = shown.to(torch.uint8).argsort(dim=-1, stable=True)[:, -count if count else None :]
    shown = shown.gather(1, order)
    moved = (one.gather(1, order.unsqueeze(-1).expand(-1, -1, one.shape[-1])) for one in kept)
    return *(one.masked_fill(~shown.unsqueeze(-1), 0.0) for one in moved), shown
