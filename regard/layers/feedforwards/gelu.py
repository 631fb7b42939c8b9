"""The feed-forward network of BERT (https://arxiv.org/abs/1810.04805, section 3; GELU: https://arxiv.org/abs/1606.08415)."""

from torch import Tensor
from torch.nn import functional

from regard.layers.feedforwards.position_wise import TwoLayers
from regard.ops.kernels.transformer import StandardFeedForward


class GeluFeedForward(TwoLayers):
    """gelu(x W1 + b1) W2 + b2, the same at every position; gelu(x) = x · Φ(x), Φ of the normal distribution."""

    aliases = "gelu_ffn, bert_feed_forward"

    def activation(self, hidden: Tensor) -> Tensor:
        dropped: Tensor = self.dropout(functional.gelu(hidden))
        return dropped

    def standard(self) -> StandardFeedForward:
        return StandardFeedForward(self.to_hidden, self.to_out, "gelu")
