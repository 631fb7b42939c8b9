"""Dropout from random bytes: torch samples a float per element, a tenth of a training step on a CPU."""

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.ops.plain import is_plain


class _ByteDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, threshold: int) -> Tensor:
        keep = random_bytes(inputs).ge(threshold)
        ctx.save_for_backward(keep)
        ctx.scale = 256 / (256 - threshold)
        return torch.mul(inputs, keep).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (keep,) = ctx.saved_tensors
        return gradients[0].mul(keep).mul_(ctx.scale), None


def dropout(inputs: Tensor, probability: float, training: bool = True) -> Tensor:
    """Zeroes elements with `probability` and scales the rest by its inverse; on a CPU rounded to 256ths.

    Samples come from torch's default generator, which a checkpoint saves.
    """
    if not training or probability == 0.0:
        return inputs
    threshold = threshold_of(probability)
    fast = inputs.device.type == "cpu" and 0 < threshold < 256 and not inputs.is_complex()
    if fast and not is_plain() and not torch.compiler.is_compiling():
        return cast(Any, _ByteDropout).apply(inputs, threshold)  # untyped in torch
    return functional.dropout(inputs, probability, training)


def threshold_of(probability: float) -> int:
    """Return the least random byte that keeps a number."""
    return round(probability * 256)


def random_bytes(like: Tensor) -> Tensor:
    """Return a random byte for each number of a tensor on a CPU, sampled eight at a time."""
    words = torch.empty((like.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
    return words.view(torch.uint8)[: like.numel()].view(like.shape)


class Dropout(nn.Module):
    """`dropout` as a module."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, inputs: Tensor) -> Tensor:
        """(...) → the same shape."""
        return dropout(inputs, self.probability, self.training)

    def extra_repr(self) -> str:
        return f"probability={self.probability}"
