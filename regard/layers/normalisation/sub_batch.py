"""Normalisation by other sentences: sub-batch normalisation of https://arxiv.org/abs/1610.10099v1, section 3.7."""

from typing import Annotated

import torch
from torch import Tensor, nn

from regard.config import Doc
from regard.config.bounds import Ratio
from regard.layers.normalisation.norm import Eps, Norm
from regard.ops.functional import wide


class SubBatchNorm(Norm):
    """gain · (x - mean) / sqrt(var + eps) + bias per channel; mean and var are of the words of the batch's other half.

    Batch statistics of a sentence's own words would leak words that are not generated yet. So the first half of the
    rows is normalised by the others, the auxiliary ones, to which an odd row belongs, and the loss must be of the first
    half alone (objective `sub_batch`). The statistics have no gradient unless it `learns_statistics`, and are float32
    at least. At inference, and for a sentence that is alone in its batch, running averages of training are used.
    """

    aliases = "sub_batch_normalisation, sub_batch_normalization"
    by_others = True
    mean: Tensor
    variance: Tensor

    def __init__(
        self,
        dim: int,
        *,
        eps: Annotated[Eps, Doc("Epsilon, for numerical stability.")] = 1e-5,
        momentum: Annotated[Ratio, Doc("Update rate of the running averages used at inference.")] = 0.1,
        learns_statistics: Annotated[bool, Doc("Backpropagate through the batch statistics.")] = False,
    ) -> None:
        super().__init__()
        self.dim, self.eps, self.momentum, self.learns = dim, eps, momentum, learns_statistics
        self.gain, self.bias = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(dim))
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("variance", torch.ones(dim))

    def forward(self, inputs: Tensor, mask: Tensor | None, past: None = None) -> tuple[Tensor, None]:
        """(batch, n, dim), mask (batch, n) → (batch, n, dim); there is no past."""
        exact = inputs.to(wide(inputs.dtype))
        mean, variance = self._statistics(exact, mask) if self.training else (self.mean, self.variance)
        scale = self.gain * torch.rsqrt(variance + self.eps)
        return ((exact - mean) * scale + self.bias).to(inputs.dtype), None

    def _statistics(self, inputs: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return biased mean and variance (dim,) of the auxiliary half; the averages where it has no words."""
        rows = main_rows(len(inputs))
        words = inputs[rows:].flatten(0, 1) if mask is None else inputs[rows:][mask[rows:]]
        if len(words) == 0:
            return self.mean, self.variance
        words = words if self.learns else words.detach()
        variance, mean = torch.var_mean(words, dim=0, correction=0)
        with torch.no_grad():
            self.mean.lerp_(mean.to(self.mean.dtype), self.momentum)
            self.variance.lerp_(variance.to(self.variance.dtype), self.momentum)
        return mean, variance


def main_rows(batch: int) -> int:
    """Return the number of first rows that are normalised by the others and have a loss: half, or the only one."""
    return batch // 2 or batch
