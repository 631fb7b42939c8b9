"""Convolutional layers and blocks; none reads a source, so a language model can stack them."""

from regard.layers.convolutional.chain import Chain
from regard.layers.convolutional.convolution import Convolution, Dilations, Kernel
from regard.layers.convolutional.gated_block import GatedBlock, projection
from regard.layers.convolutional.gates import Gate
from regard.layers.convolutional.grid_convolution import GridConvolution
from regard.layers.convolutional.multiplicative_unit import MultiplicativeUnit
from regard.layers.convolutional.residual_block import BlockKind, ResidualBlock, note_dilations, residual_chain
from regard.layers.convolutional.weight_normalised import WeightNormalised

__all__ = [
    "BlockKind", "Chain", "Convolution", "Dilations", "Gate", "GatedBlock", "GridConvolution", "Kernel",
    "MultiplicativeUnit", "ResidualBlock", "WeightNormalised", "note_dilations", "projection", "residual_chain",
]  # fmt: skip
