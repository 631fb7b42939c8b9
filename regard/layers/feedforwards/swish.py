"""A feed-forward network with swish (https://arxiv.org/abs/1710.05941)."""

from typing import Annotated

import torch
from torch import Tensor

from regard.config import Doc
from regard.config.bounds import Positive
from regard.config.common_settings import DropoutProbability
from regard.layers.feedforwards.position_wise import TwoLayers
from regard.ops.kernels.transformer import StandardFeedForward


class SwishFeedForward(TwoLayers):
    """swish(x W1 + b1) W2 + b2, the same at every position; swish(x) = x · sigmoid(beta · x).

    With beta 1.702 it is near to gelu: what Marian computes under that name.
    """

    aliases = "silu, swish_ffn"

    def __init__(
        self,
        dim: int,
        hidden_dim: int,
        *,
        beta: Annotated[Positive, Doc("Slope of the sigmoid; 1: SiLU, 1.702: Marian's gelu.")] = 1.0,
        dropout: DropoutProbability = 0.0,
    ) -> None:
        super().__init__(dim, hidden_dim, dropout=dropout)
        self.beta = beta

    def activation(self, hidden: Tensor) -> Tensor:
        dropped: Tensor = self.dropout(hidden * torch.sigmoid(self.beta * hidden))
        return dropped

    def standard(self) -> StandardFeedForward:
        return StandardFeedForward(self.to_hidden, self.to_out, "swish", self.beta)
