"""The mean of several checkpoints (https://arxiv.org/abs/1706.03762, section 6.1)."""

from collections.abc import Sequence

import torch
from torch import Tensor

Tensors = dict[str, Tensor]


def average(models: Sequence[Tensors]) -> Tensors:
    """Each tensor's mean in float64; what is no real number (a counter) is taken from the first."""
    first = models[0]
    return {name: _mean([model[name] for model in models]) for name in first}


def _mean(tensors: Sequence[Tensor]) -> Tensor:
    first = tensors[0]
    if not (first.is_floating_point() or first.is_complex()):
        return first
    wide = torch.complex128 if first.is_complex() else torch.float64
    return torch.stack([tensor.to(wide) for tensor in tensors]).mean(dim=0).to(first.dtype)
