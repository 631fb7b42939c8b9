"""Convolutions of one dimension, along a sequence: masked or centred, dilated or not (arXiv:1610.10099, section 3)."""

from typing import Annotated

import torch
from annotated_types import MinLen
from torch import Tensor, nn
from torch.nn import functional

from regard.config import Doc
from regard.config.bounds import Size
from regard.layers.layer import Layer
from regard.ops.functional import latest
from regard.ops.linear import Linear, linear


class WeightNormalised(nn.Module):
    """x Wᵀ + b, row o of W = gain_o · direction_o / |direction_o|; it starts as N(0, std²), b as 0."""

    def __init__(self, in_dim: int, out_dim: int, *, std: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_dim, in_dim))  # the directions
        nn.init.normal_(self.weight, std=std)
        self.gain = nn.Parameter(self.weight.detach().norm(dim=1))
        self.bias = nn.Parameter(torch.zeros(out_dim))

    def forward(self, inputs: Tensor) -> Tensor:
        """(..., in_dim) → (..., out_dim). What is smaller is scaled: the weight, or the products of few inputs."""
        scale = self.gain / self.weight.norm(dim=1)
        if inputs[..., 0].numel() < self.weight.shape[1]:
            return linear(inputs, self.weight) * scale + self.bias
        return linear(inputs, self.weight * scale.unsqueeze(-1), self.bias)


Kernel = Annotated[Size, Doc("Kernel size, in words.")]
Dilations = Annotated[tuple[Size, ...], MinLen(1), Doc("Dilation of each layer.")]


class Convolution(Layer):
    """out_i = b + sum_j W_j in_(i - (kernel - 1 - j) · dilation), j = 0 … kernel - 1; missing inputs are zero.

    causal: as above, with a past of the last (kernel - 1) · dilation inputs. Else the kernel is centred (an even one
    sees one more to the left), which needs the whole sequence: its past is None, and it accepts none.
    The weight (out_dim, kernel · input_dim) holds the taps side by side, oldest first. Padded inputs count as zero.
    With `std` weights are normalised and sampled from N(0, std²); `products` computes outputs of taps side by side.
    An output of a stack sees 1 + sum of (kernel - 1) · dilation inputs: kernels of 3 with dilations 1, 2, 4, 8, 16 see
    63, six such sets 373, though section 4 of the paper says 315.
    """

    def __init__(
        self,
        input_dim: int,
        dim: int,
        *,
        kernel: int = 3,
        dilation: int = 1,
        causal: bool = True,
        std: float | None = None,
        products: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.dim, self.kernel, self.dilation, self.causal = dim, kernel, dilation, causal
        width = kernel * input_dim
        plain = Linear(width, dim) if std is None else WeightNormalised(width, dim, std=std)
        self.linear = plain if products is None else products

    @property
    def reach(self) -> int:
        """Number of inputs besides the current one that an output sees."""
        return (self.kernel - 1) * self.dilation

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        if past is not None and not self.causal:
            raise ValueError("a centred convolution cannot be run in pieces")
        if mask is not None:
            inputs = inputs.masked_fill(~mask.unsqueeze(-1), 0.0)
        if not self.causal:
            right = self.reach // 2
            return self._outputs(functional.pad(inputs, (0, 0, self.reach - right, right))), None
        before = inputs.new_zeros(inputs.shape[0], self.reach, inputs.shape[-1]) if past is None else past
        seen = torch.cat([before, inputs], dim=1)
        return self._outputs(seen), latest(seen, mask, self.reach)

    def _outputs(self, seen: Tensor) -> Tensor:
        """Compute outputs (batch, n, dim) of seen (batch, reach + n, input_dim): one product for all taps."""
        length = seen.shape[1] - self.reach
        starts = range(0, self.reach + 1, self.dilation)
        taps = [seen[:, start : start + length] for start in starts]
        outputs: Tensor = self.linear(torch.cat(taps, dim=-1) if len(taps) > 1 else seen)
        return outputs
