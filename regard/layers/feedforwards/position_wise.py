"""The position-wise network of https://arxiv.org/abs/1706.03762, section 3.3: two convolutions of width one."""

from typing import Any

from torch import Tensor, nn

from regard.config.common_settings import DropoutShare
from regard.layers.feedforwards.feedforward import FeedForward
from regard.ops.dropout import Dropout
from regard.ops.fused_dropout import relu_dropped
from regard.ops.linear import Linear


class PositionWise(FeedForward):
    """max(0, x W1 + b1) W2 + b2, the same at every position."""

    aliases = "position_wise_ffn, position_wise_feed_forward, position_wise_feed_forward_network, ffn"

    def __init__(self, dim: int, hidden_dim: int, *, dropout: DropoutShare = 0.0) -> None:
        super().__init__()
        self.dim = dim
        self.to_hidden, self.to_out = Linear(dim, hidden_dim), Linear(hidden_dim, dim)
        self.dropout = Dropout(dropout)
        for linear in (self.to_hidden, self.to_out):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def relu_layers(self) -> tuple[nn.Linear, nn.Linear]:
        """Return the two layers of max(0, x W1 + b1) W2 + b2."""
        return self.to_hidden, self.to_out

    def forward(self, inputs: Tensor, mask: Tensor | None = None, past: Any = None) -> tuple[Tensor, None]:
        """(batch, n, dim) → (batch, n, dim). No position knows of another, so there is no past."""
        hidden = relu_dropped(self.to_hidden(inputs), self.dropout)
        return self.to_out(hidden), None
