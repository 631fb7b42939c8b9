"""The negative sampling loss in torch operations."""

import torch
from torch import Tensor
from torch.nn import functional


def plain_contrast(inputs: Tensor, outputs: Tensor, contexts: Tensor, targets: Tensor, *, mean: bool) -> Tensor:
    """Tables (rows, dim), contexts (place, width) with -1 for none, targets (place, choice) → losses (place,)."""
    there = (contexts >= 0).unsqueeze(-1)
    read = inputs[contexts.clamp(min=0)] * there  # (place, width, dim)
    if mean:
        read = read.sum(dim=1, keepdim=True) / there.sum(dim=1, keepdim=True).clamp(min=1)
        there = there.any(dim=1, keepdim=True)
    scores = read @ outputs[targets].transpose(1, 2)  # (place, width or 1, choice)
    wrong = torch.cat([-scores[..., :1], scores[..., 1:]], dim=-1)
    return (functional.softplus(wrong) * there).sum(dim=(1, 2))
