"""Weights that may not grow beyond a length (https://arxiv.org/abs/1207.0580)."""

import torch
from torch import Tensor


def held(weight: Tensor, max_norm: float | None, *, training: bool) -> Tensor:
    """The weight (out_dim, …), each row w · min(1, max_norm / |w|): one that an update made too long is cut back.

    In training the weight itself is cut, in the first pass after the update, as torch's embeddings do it. So the next
    update starts from rows that are held, whatever the optimizer, and a row that was cut may shrink again. Outside of
    training nothing is changed, and what the last update made is cut for this pass alone. None holds nothing.
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
