"""Self-attention alone: what the translator of three attentions makes of a source."""

from typing import Annotated

from torch import nn

from regard.attention import Attention, Sockets
from regard.config import Doc
from regard.config.common_settings import DropoutProbability, NumLayers
from regard.encoders.encoder import Encoder
from regard.layers.pooling.mean import MeanPooling
from regard.ops.dropout import Dropout
from regard.ops.linear import Linear
from regard.ops.modules import module_list
from regard.records import Encoded, Sequences


class SelfAttentionEncoder(Encoder):
    """states = SelfAttn(x), num_layers times; with `residual` x + SelfAttn(x). Neither feed-forward nor normalisation.

    Its source knows no order but that of its positions (https://arxiv.org/abs/1706.03762, section 3.5). `final` is the
    mean of the states.
    """

    aliases = "attention, intra_attention, san, self_attn, three_attention"

    def __init__(
        self,
        input_dim: int,
        sockets: Sockets,
        *,
        num_layers: NumLayers = 1,
        residual: Annotated[bool, Doc("Residual connection around each layer.")] = False,
        dropout: DropoutProbability = 0.1,
    ) -> None:
        super().__init__()
        self.dim, self.residual = input_dim, residual
        self.layers = module_list(sockets.itself(input_dim) for _ in range(num_layers))
        self.fits = module_list(_fitting(layer, input_dim) for layer in self.layers)
        self.dropout, self.mean = Dropout(dropout), MeanPooling(input_dim)

    def forward(self, source: Sequences) -> Encoded:
        """vectors (batch, source, dim) → states of the same shape; padded ones are zero."""
        hidden = ~source.mask.unsqueeze(-1)
        states = source.items.masked_fill(hidden, 0.0)
        for layer, fit in zip(self.layers, self.fits, strict=True):
            seen = self.dropout(fit(layer(states, layer.remember(states, mask=source.mask)).context))
            states = states + seen if self.residual else seen
        states = states.masked_fill(hidden, 0.0)
        return Encoded(states, source.mask, self.mean(states, source.mask))


def _fitting(attention: Attention, dim: int) -> nn.Module:
    """A projection where contexts are not as wide as what asked for them."""
    width = attention.context_dim(dim)
    return nn.Identity() if width == dim else Linear(width, dim)
