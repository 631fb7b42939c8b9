"""Convolutions of two dimensions, over a grid: centred, dilated or not (https://arxiv.org/abs/1511.07122)."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.config.bounds import Size
from regard.ops.linear import Linear


class GridConvolution(nn.Module):
    """out_rc = b + sum_ij W_ij in_(r + (i - m) · dilation, c + (j - m) · dilation), i, j = 0 … kernel - 1.

    m is the middle of the kernel; an even one sees one more above and to the left. Missing and masked inputs are zero.
    `dilation` is the distance between the taps, `kernel` their number in each direction. The weight
    (dim, kernel · kernel · input_dim) holds the taps side by side, row by row. An output of a stack sees a square of
    side 1 + sum of (kernel - 1) · dilation: kernels of 3 with dilations 1, 2, 4 see 3, 7, 15.

    Cost: O(n·k²·d²)
    """

    aliases = "conv2d, dilated_convolution_2d, 二维卷积"

    def __init__(self, input_dim: int, dim: int, *, kernel: Size = 3, dilation: Size = 1) -> None:
        super().__init__()
        self.dim, self.kernel, self.dilation = dim, kernel, dilation
        self.linear = Linear(kernel * kernel * input_dim, dim)

    @property
    def reach(self) -> int:
        """Number of rows, and of columns, besides its own that an output sees."""
        return (self.kernel - 1) * self.dilation

    def forward(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        """inputs (batch, rows, columns, input_dim), mask (batch, rows, columns) → (batch, rows, columns, dim)."""
        if mask is not None:
            inputs = inputs.masked_fill(~mask.unsqueeze(-1), 0.0)
        after = self.reach // 2
        before, (rows, columns) = self.reach - after, inputs.shape[1:3]
        seen = functional.pad(inputs, (0, 0, before, after, before, after))
        starts = range(0, self.reach + 1, self.dilation)
        taps = [seen[:, down : down + rows, along : along + columns] for down in starts for along in starts]
        outputs: Tensor = self.linear(torch.cat(taps, dim=-1))
        return outputs
