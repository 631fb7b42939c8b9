"""The position-wise network of https://arxiv.org/abs/1706.03762, section 3.3: two convolutions of width one."""

from torch import Tensor

from regard.layers.feedforwards.two_layers import TwoLayers
from regard.ops.fused_dropout import relu_dropped
from regard.ops.kernels.transformer import StandardFeedForward


class PositionWise(TwoLayers):
    """max(0, x W1 + b1) W2 + b2, the same at every position."""

    aliases = "position_wise_ffn, position_wise_feed_forward, position_wise_feed_forward_network, ffn"

    def activation(self, hidden: Tensor) -> Tensor:
        return relu_dropped(hidden, self.dropout)

    def standard(self) -> StandardFeedForward:
        return StandardFeedForward(self.to_hidden, self.to_out, "relu")
