"""Complex networks over complex-order embeddings: https://arxiv.org/abs/1912.12333, section 3."""

from typing import Annotated, Literal

import torch
from torch import nn

from regard.attention import Sockets
from regard.config import Doc
from regard.config.common_settings import DropoutProbability, NumLayers
from regard.encoders.encoder import Encoder
from regard.layers.complex_numbers import ComplexLstm, WordBatchNorm, complex_convolution, complex_modulus
from regard.layers.convolutional.convolution import Kernel
from regard.layers.pooling.mean import MeanPooling
from regard.layers.recurrent import Bidirectional
from regard.ops.dropout import Dropout
from regard.ops.modules import module_list
from regard.records import Encoded, Sequences


class ComplexEncoder(Encoder):
    """Complex layers of vectors [real; imaginary], as embedder `complex_order` makes them, of an even width.

    layer "convolution": f(norm(W * z)), centred, f = `activation` of both parts; a `kernel` of 1 is a dense layer.
    layer "lstm": the sum of both directions; it has neither `kernel` nor `activation`. With `norm` a layer's outputs
    have batch normalisation, of real and imaginary parts separately. With `modulus` the states are |z|, half as wide.
    `final` is their mean.
    """

    aliases = "complex_cnn, complex_network"

    def __init__(
        self,
        input_dim: int,
        sockets: Sockets,
        *,
        layer: Annotated[Literal["convolution", "lstm"], Doc("Kind of layer.")] = "convolution",
        num_layers: NumLayers = 1,
        kernel: Kernel = 3,
        activation: Annotated[
            Literal["relu", "tanh"], Doc("Activation of a convolution, of real and imaginary part separately.")
        ] = "relu",
        norm: Annotated[bool, Doc("Batch normalisation of real and imaginary part.")] = True,
        modulus: Annotated[bool, Doc("Return the modulus of the states, half as wide.")] = False,
        dropout: DropoutProbability = 0.1,
    ) -> None:
        super().__init__()
        self.recurrent, self.modulus, self.dropout = layer == "lstm", modulus, Dropout(dropout)
        self.activation = torch.relu if activation == "relu" else torch.tanh
        self.layers = module_list([_layer(self.recurrent, input_dim, kernel) for _ in range(num_layers)])
        self.norms = module_list([WordBatchNorm(input_dim) for _ in range(num_layers if norm else 0)])
        self.dim = input_dim // 2 if modulus else input_dim
        self.mean: nn.Module = MeanPooling(self.dim)

    def forward(self, source: Sequences) -> Encoded:
        """vectors (batch, source, input_dim) → states (batch, source, dim); padded ones are zero."""
        states, mask = source.items, source.mask
        for number, layer in enumerate(self.layers):
            states, _ = layer(self.dropout(states) if number else states, mask)
            states = self.norms[number](states, mask) if self.norms else states
            states = states if self.recurrent else self.activation(states)
        states = complex_modulus(states) if self.modulus else states
        states = self.dropout(states).masked_fill(~mask.unsqueeze(-1), 0.0)
        return Encoded(states, mask, self.mean(states, mask))


def _layer(recurrent: bool, dim: int, kernel: int) -> nn.Module:
    if recurrent:
        return Bidirectional(ComplexLstm(dim, dim), ComplexLstm(dim, dim), merge="add")
    return complex_convolution(dim, dim, kernel=kernel)
