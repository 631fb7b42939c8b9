"""The encoder of ConvS2S: https://arxiv.org/abs/1705.03122."""

from torch import nn

from regard.attention import Sockets
from regard.config.common_settings import DropoutProbability, HiddenDim, NumLayers
from regard.encoders.encoder import Encoder
from regard.layers.convolutional.convolution import Kernel
from regard.layers.convolutional.gated_block import Gate, GatedBlock, projection
from regard.layers.convolutional.residual_block import Chain
from regard.layers.pooling.mean import MeanPooling
from regard.ops.dropout import Dropout
from regard.records import Encoded, Sequences


class ConvolutionalEncoder(Encoder):
    """num_layers blocks (x + gate(W * x + b)) · sqrt(1/2) of centred convolutions, which see 1 + L (k - 1) words.

    What is read of a state z is z + e, e its embedding (section 3.3). `final` is the mean of the states. Where widths
    differ, the map to `hidden_dim` begins as if `dropout` were that of its inputs, too. An even `kernel` sees one word
    more to the left than to the right.
    """

    aliases = (
        "cnn, conv, convolution, convs2s, fconv, text_cnn",
        "gated_cnn, gated_convolution, gated_linear_unit, glu, 门控线性单元",
    )

    def __init__(
        self,
        input_dim: int,
        sockets: Sockets,
        *,
        hidden_dim: HiddenDim = 256,
        num_layers: NumLayers = 4,
        kernel: Kernel = 3,
        gate: Gate = "glu",
        dropout: DropoutProbability = 0.1,
    ) -> None:
        super().__init__()
        self.dim = input_dim
        fits = hidden_dim == input_dim
        self.enter = nn.Identity() if fits else projection(input_dim, hidden_dim, keep=1 - dropout)
        self.leave = nn.Identity() if fits else projection(hidden_dim, input_dim)
        self.blocks = Chain(
            hidden_dim,
            [
                GatedBlock(hidden_dim, hidden_dim, kernel=kernel, causal=False, gate=gate, dropout=dropout)
                for _ in range(num_layers)
            ],
        )
        self.dropout, self.mean = Dropout(dropout), MeanPooling(input_dim)

    def forward(self, source: Sequences) -> Encoded:
        """vectors (batch, source, dim) → states of the same shape; padded ones are zero."""
        states, _ = self.blocks(self.enter(source.items), source.mask)
        hidden = ~source.mask.unsqueeze(-1)
        states = self.dropout(self.leave(states)).masked_fill(hidden, 0.0)
        values = (states + source.items).masked_fill(hidden, 0.0)
        return Encoded(states, source.mask, self.mean(states, source.mask), values=values)
