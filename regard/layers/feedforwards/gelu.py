"""The feed-forward network of BERT (https://arxiv.org/abs/1810.04805, section 3; GELU: https://arxiv.org/abs/1606.08415)."""

from typing import Any

from torch import Tensor, nn
from torch.nn import functional

from regard.config.common_settings import DropoutShare
from regard.layers.feedforwards.feedforward import FeedForward
from regard.ops.dropout import Dropout
from regard.ops.linear import Linear


class GeluFeedForward(FeedForward):
    """gelu(x W1 + b1) W2 + b2, the same at every position; gelu(x) = x · Φ(x), Φ of the normal distribution."""

    aliases = "gelu_ffn, bert_feed_forward"

    def __init__(self, dim: int, hidden_dim: int, *, dropout: DropoutShare = 0.0) -> None:
        super().__init__()
        self.dim = dim
        self.to_hidden, self.to_out = Linear(dim, hidden_dim), Linear(hidden_dim, dim)
        self.dropout = Dropout(dropout)
        for linear in (self.to_hidden, self.to_out):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, inputs: Tensor, mask: Tensor | None = None, past: Any = None) -> tuple[Tensor, None]:
        """(batch, n, dim) → (batch, n, dim). No position knows of another, so there is no past."""
        return self.to_out(self.dropout(functional.gelu(self.to_hidden(inputs)))), None
