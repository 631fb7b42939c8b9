"""Simple recurrent units in place of the position-wise network (https://arxiv.org/abs/1709.02755, section 4.4)."""

from typing import Any

from torch import Tensor, nn

from regard.config.common_settings import DropoutProbability
from regard.layers.feedforwards.feedforward import FeedForward
from regard.layers.recurrent.directions import Bidirectional
from regard.layers.recurrent.recurrent import Past
from regard.layers.recurrent.sru import HighwayBias, SruLayer, Version
from regard.ops.dropout import Dropout
from regard.ops.linear import Linear


class SruFeedForward(FeedForward):
    """W h + b, h of an SRU of `hidden_dim` that reads from left to right: order is known without positions, too."""

    aliases = "transformer_sru, sru_feed_forward"

    def __init__(
        self,
        dim: int,
        hidden_dim: int,
        *,
        version: Version = 2,
        highway_bias: HighwayBias = -3.0,
        dropout: DropoutProbability = 0.0,
    ) -> None:
        super().__init__()
        self.dim, self.dropout = dim, Dropout(dropout)
        self.unit = SruLayer(dim, hidden_dim, version=version, highway_bias=highway_bias)
        self.to_out = _linear(hidden_dim, dim)

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Past | None = None) -> tuple[Tensor, Past]:
        """(batch, n, dim) → (batch, n, dim), the unit's past."""
        hidden, past = self.unit(inputs, mask, past)
        return self.to_out(self.dropout(hidden)), past


class BidirectionalSruFeedForward(FeedForward):
    """W [h; h'] + b, h and h' of two SRUs, half of `hidden_dim` each, one of which reads from right to left."""

    whole = True

    def __init__(
        self,
        dim: int,
        hidden_dim: int,
        *,
        version: Version = 2,
        highway_bias: HighwayBias = -3.0,
        dropout: DropoutProbability = 0.0,
    ) -> None:
        super().__init__()
        self.dim, self.dropout = dim, Dropout(dropout)
        widths = hidden_dim // 2, hidden_dim - hidden_dim // 2
        self.units = Bidirectional(*(SruLayer(dim, one, version=version, highway_bias=highway_bias) for one in widths))
        self.to_out = _linear(hidden_dim, dim)

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Any = None) -> tuple[Tensor, None]:
        """(batch, n, dim), all of it → (batch, n, dim)."""
        mask = inputs.new_ones(inputs.shape[:2]).bool() if mask is None else mask
        hidden, _ = self.units(inputs, mask)
        return self.to_out(self.dropout(hidden)), None


def _linear(in_dim: int, out_dim: int) -> Linear:
    made = Linear(in_dim, out_dim)
    nn.init.xavier_uniform_(made.weight)
    nn.init.zeros_(made.bias)
    return made
