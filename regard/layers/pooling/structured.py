"""Structured self-attention: several learned queries (https://arxiv.org/abs/1703.03130, section 2.1)."""

from typing import Annotated

import torch
from torch import Tensor, nn

from regard.attention.scores.dot import DotScore
from regard.config import Doc
from regard.config.bounds import Size
from regard.config.common_settings import HiddenDim
from regard.layers.pooling.pooling import Pooling
from regard.layers.pooling.reading import query_socket, read_by

_STD = 0.1  # of the initial weights, as for a single query


class StructuredPooling(Pooling):
    """A H flattened, A = softmax(W2 tanh(W1 Hᵀ)): row r of W2 is the query of hop r, and out_dim = hops · dim.

    The weights A (batch, hop, n) are those of an attention, so `recording` has them, and penalties on their overlap
    work.

    Cost: O(m·h·(d + hops))
    """

    aliases = "structured_self, structured_self_attentive, lin, 结构化, 结构化自"

    def __init__(
        self,
        dim: int,
        *,
        hops: Annotated[Size, Doc("Number of attention hops, each with its own query vector.")] = 30,
        hidden_dim: HiddenDim = 350,
    ) -> None:
        super().__init__()
        self.out_dim = hops * dim
        self.to_hidden = nn.Linear(dim, hidden_dim, bias=False)
        self.queries = nn.Parameter(torch.empty(hops, hidden_dim))
        self.attention = query_socket(DotScore(hidden_dim, hidden_dim))
        for weight in (self.to_hidden.weight, self.queries):
            nn.init.normal_(weight, std=_STD)

    def forward(self, states: Tensor, mask: Tensor | None = None, query: Tensor | None = None) -> Tensor:
        """states (batch, n, dim) → (batch, hops · dim), hop after hop."""
        hidden = torch.tanh(self.to_hidden(states))
        return read_by(self.attention, self.queries.expand(len(states), -1, -1), hidden, states, mask)
