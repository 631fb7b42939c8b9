"""Cumulative normalisation: statistics of the words read so far, so a decoder can use it."""

from typing import Annotated

import torch
from torch import Tensor, nn

from regard.config import Doc
from regard.layers.normalisation.norm import Eps, Norm

Seen = tuple[Tensor, Tensor, Tensor]  # number of words (batch, 1, 1); sum and sum of squares (batch, 1, dim)


class CumulativeNorm(Norm):
    """gain · (x_t - mean_t) / sqrt(var_t + eps) + bias per channel, mean_t and var_t over x_1 … x_t of the same row.

    The first word, which is its own mean, gives the bias. Sums are kept in float64, since variances are differences.
    """

    def __init__(self, dim: int, *, eps: Annotated[Eps, Doc("Epsilon, for numerical stability.")] = 1e-5) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps
        self.gain, self.bias = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(dim))

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Seen | None = None) -> tuple[Tensor, Seen]:
        """(batch, n, dim), mask (batch, n) → (batch, n, dim) and the sums so far; a padded step keeps them."""
        words = inputs.double()
        real = torch.ones_like(words[..., :1]) if mask is None else mask.unsqueeze(-1).double()
        words = words if mask is None else words.masked_fill(~mask.unsqueeze(-1), 0.0)
        given = (real, words, words.square())
        start = tuple(one.new_zeros(len(one), 1, one.shape[-1]) for one in given) if past is None else past
        count, total, squares = (old + one.cumsum(dim=1) for old, one in zip(start, given, strict=True))
        known = count.clamp(min=1)
        mean = total / known
        variance = (squares / known - mean.square()).clamp(min=0)
        outputs = ((words - mean) * torch.rsqrt(variance + self.eps)).to(inputs.dtype)
        last = [torch.cat([old, one], dim=1)[:, -1:] for old, one in zip(start, (count, total, squares), strict=True)]
        return self.gain * outputs + self.bias, (last[0], last[1], last[2])
