"""Functions of tensors that torch lacks, without parameters."""

from typing import Any, cast

import torch
from torch import Tensor


def wide(dtype: torch.dtype) -> torch.dtype:
    """Return the dtype itself, float32 at least: in bfloat16 a small weight added to a large sum is lost."""
    return torch.promote_types(dtype, torch.float32)


class _Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return inputs.view_as(inputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0] * ctx.factor, None


def scale_gradient(inputs: Tensor, factor: float) -> Tensor:
    """Return the inputs themselves; what flows back through them is multiplied by `factor`."""
    return cast(Any, _Scaled).apply(inputs, factor)  # untyped in torch


def limit_norm(weight: Tensor, max_norm: float | None, *, training: bool) -> Tensor:
    """weight (out_dim, …) → each row w · min(1, max_norm / |w|), as in https://arxiv.org/abs/1207.0580.

    In training the weight itself is cut, in the first pass after the update, as torch's embeddings do it. So the next
    update starts from rows that are cut, whatever the optimizer, and a row that was cut may shrink again. Outside of
    training nothing is changed: what the last update made is cut for this pass alone. None limits nothing.
    """
    if max_norm is None:
        return weight
    lengths = weight.detach().flatten(1).norm(dim=1).view(-1, *[1] * (weight.dim() - 1))
    scale = (max_norm / lengths).clamp(max=1)
    if not training:
        return weight * scale
    with torch.no_grad():
        weight.mul_(scale)
    return weight.clone()  # else the gradient of this pass would not survive another pass before it


def latest(seen: Tensor, mask: Tensor | None, count: int) -> Tensor:
    """seen (batch, count + n, dim), mask (batch, n) of its last n → the last `count` of each row without padding."""
    if mask is None:
        return seen[:, seen.shape[1] - count :]
    places = mask.sum(dim=1, keepdim=True) + torch.arange(count, device=seen.device)
    return seen.gather(1, places.unsqueeze(-1).expand(-1, -1, seen.shape[-1]))


def gathered(shown: Tensor, count: int | None, *kept: Tensor) -> tuple[Tensor, ...]:
    """shown (batch, key), each of kept (batch, key, …) → those shown, moved to the end, and which places hold one.

    At most `count` places are left, so that the next follow on them. Padding among them is zero.
    """
    order = shown.to(torch.uint8).argsort(dim=-1, stable=True)[:, -count if count else None :]
    shown = shown.gather(1, order)
    moved = (one.gather(1, order.unsqueeze(-1).expand(-1, -1, one.shape[-1])) for one in kept)
    return *(one.masked_fill(~shown.unsqueeze(-1), 0.0) for one in moved), shown
