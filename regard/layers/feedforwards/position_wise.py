"""The position-wise network of https://arxiv.org/abs/1706.03762, section 3.3: two convolutions of width one."""

from abc import abstractmethod
from typing import Any

from torch import Tensor, nn

from regard.config.common_settings import DropoutProbability
from regard.layers.feedforwards.feedforward import FeedForward
from regard.ops.dropout import Dropout
from regard.ops.fused_dropout import relu_dropped
from regard.ops.kernels.transformer import StandardFeedForward
from regard.ops.linear import Linear


class TwoLayers(FeedForward):
    """f(x W1 + b1) W2 + b2, the same at every position."""

    def __init__(self, dim: int, hidden_dim: int, *, dropout: DropoutProbability = 0.0) -> None:
        super().__init__()
        self.dim = dim
        self.to_hidden, self.to_out = Linear(dim, hidden_dim), Linear(hidden_dim, dim)
        self.dropout = Dropout(dropout)
        for linear in (self.to_hidden, self.to_out):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    @abstractmethod
    def activation(self, hidden: Tensor) -> Tensor:
        """Return the input of the second layer, given x W1 + b1 (batch, n, hidden_dim); in training with dropout."""

    def forward(self, inputs: Tensor, mask: Tensor | None = None, past: Any = None) -> tuple[Tensor, None]:
        """(batch, n, dim) → (batch, n, dim). Positions are independent, so there is no past."""
        return self.to_out(self.activation(self.to_hidden(inputs))), None


class PositionWise(TwoLayers):
    """max(0, x W1 + b1) W2 + b2, the same at every position."""

    aliases = "position_wise_ffn, position_wise_feed_forward, position_wise_feed_forward_network, ffn"

    def activation(self, hidden: Tensor) -> Tensor:
        return relu_dropped(hidden, self.dropout)

    def standard(self) -> StandardFeedForward:
        return StandardFeedForward(self.to_hidden, self.to_out, "relu")
