"""Convolutions over a grid of cells: dilated, with residual connections (https://arxiv.org/abs/1511.07122)."""

from typing import Annotated

import torch
from torch import nn

from regard.attention import Sockets
from regard.config import Doc
from regard.config.bounds import Size
from regard.config.common_settings import DropoutProbability
from regard.encoders.encoder import Encoder
from regard.layers.convolutional.convolution import Dilations
from regard.layers.convolutional.grid_convolution import GridConvolution
from regard.layers.pooling.mean import MeanPooling
from regard.ops.dropout import Dropout
from regard.ops.modules import module_list
from regard.records import Encoded, Sequences


class GridConvolutionalEncoder(Encoder):
    """x + max(0, W * x) for each of `dilations`, * a two-dimensional convolution of cells that are given row by row.

    A state sees a square of side 1 + sum of (kernel - 1) · dilation. Cells that a last row lacks are zero. `final` is
    the mean of the states.
    """

    aliases = "grid_cnn, cnn_2d"

    def __init__(
        self,
        input_dim: int,
        sockets: Sockets,
        *,
        columns: Annotated[Size, Doc("Number of columns of the grid.")] = 4,
        dilations: Dilations = (1, 2),
        kernel: Annotated[Size, Doc("Kernel size, in cells of each direction.")] = 3,
        dropout: DropoutProbability = 0.1,
    ) -> None:
        super().__init__()
        self.dim, self.columns = input_dim, columns
        layers = [GridConvolution(input_dim, input_dim, kernel=kernel, dilation=dilation) for dilation in dilations]
        self.layers = module_list(layers)
        self.dropout: nn.Module = Dropout(dropout)
        self.mean: nn.Module = MeanPooling(input_dim)

    def forward(self, source: Sequences) -> Encoded:
        """vectors of cells (batch, source, dim) → states of the same shape; padded ones are zero."""
        mask, length = source.mask, source.mask.shape[1]
        more = -length % self.columns
        states = source.items.masked_fill(~mask.unsqueeze(-1), 0.0)
        grid = ((length + more) // self.columns, self.columns)
        states = nn.functional.pad(states, (0, 0, 0, more)).unflatten(1, grid)
        shown = nn.functional.pad(mask, (0, more)).unflatten(1, grid)
        for layer in self.layers:
            states = states + torch.relu(layer(self.dropout(states), shown))
        states = states.flatten(1, 2)[:, :length].masked_fill(~mask.unsqueeze(-1), 0.0)
        return Encoded(states, mask, self.mean(states, mask))
