"""The encoder of ByteNet: https://arxiv.org/abs/1610.10099."""

from typing import Annotated

from torch import nn

from regard.aliases import alias
from regard.attention import Sockets
from regard.config import Doc
from regard.config.bounds import AnyFloat, NotNegative
from regard.config.common_settings import DropoutProbability, HiddenDim, NumLayers
from regard.encoders.encoder import Encoder
from regard.encoders.unfolded import Unfolding
from regard.layers.convolutional.convolution import Dilations, Kernel
from regard.layers.convolutional.residual_block import BlockKind, note_dilations, residual_chain
from regard.layers.normalisation import Normalisation
from regard.layers.pooling.mean import MeanPooling
from regard.ops.dropout import Dropout
from regard.ops.linear import Linear
from regard.records import Encoded, Sequences
from regard.registry import Choice


class ByteNetEncoder(Encoder):
    """num_layers residual blocks of centred convolutions, dilated by `dilations` in turn, unfolded to |t| places.

    States are 2 · hidden_dim wide. |t| = ratio · |s| + extra; `final` is the mean of the states. An even `kernel` sees
    one place more to the left than to the right.
    """

    aliases = (
        "dilated, dilated_cnn, dilated_convolution, 扩张卷积, 空洞卷积, tcn, wavenet",
        alias("multiplicative_unit, residual_multiplicative_block", {"block": "multiplicative"}),
    )

    def __init__(
        self,
        input_dim: int,
        sockets: Sockets,
        *,
        hidden_dim: HiddenDim = 128,
        num_layers: NumLayers = 10,
        kernel: Kernel = 3,
        dilations: Dilations = (1, 2, 4, 8, 16),
        block: BlockKind = "relu",
        norm: Annotated[Normalisation, Doc("Normalisation in each block.")] = Choice("layer"),
        ratio: Annotated[
            NotNegative, Doc("Length of the unfolded target, as a multiple of the source pieces; `extra` is added.")
        ] = 1.2,
        extra: Annotated[AnyFloat, Doc("Positions added to `ratio` times the source.")] = 0.0,
        dropout: DropoutProbability = 0.1,
    ) -> None:
        super().__init__()
        note_dilations(dilations[:num_layers], kernel, ratio=ratio, extra=extra)
        self.dim = 2 * hidden_dim
        self.unfolding = Unfolding(input_dim, ratio=ratio, extra=extra)
        self.enter = nn.Identity() if input_dim == self.dim else Linear(input_dim, self.dim)
        self.blocks = residual_chain(
            self.dim, num_layers, kernel=kernel, dilations=dilations, kind=block, norm=norm, causal=False
        )
        self.dropout, self.mean = Dropout(dropout), MeanPooling(self.dim)

    def forward(self, source: Sequences) -> Encoded:
        """vectors (batch, source, input_dim) → states (batch, |t|, dim); padded ones are zero."""
        items, mask = self.unfolding(source)
        states, _ = self.blocks(self.enter(items), mask)
        states = self.dropout(states).masked_fill(~mask.unsqueeze(-1), 0.0)
        return Encoded(states, mask, self.mean(states, mask))
