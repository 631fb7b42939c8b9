"""Convolutional layers and blocks; none reads a source, so a language model can stack them."""

from regard.layers.convolutional.convolution import Convolution, Dilations, Kernel
from regard.layers.convolutional.gated_block import Gate, GatedBlock, projection
from regard.layers.convolutional.grid_convolution import GridConvolution
from regard.layers.convolutional.residual_block import BlockKind, Chain, ResidualBlock, note_dilations, residual_chain

__all__ = [
    "BlockKind",
    "Chain",
    "Convolution",
    "Dilations",
    "Gate",
    "GatedBlock",
    "GridConvolution",
    "Kernel",
    "ResidualBlock",
    "note_dilations",
    "projection",
    "residual_chain",
]
