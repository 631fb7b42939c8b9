"""Feed-forward attention (https://arxiv.org/abs/1512.08756): the score of a state depends on it alone."""

import torch
from torch import Tensor, nn

from regard.attention.scores.dot import DotScore
from regard.layers.pooling.pooling import Pooling
from regard.layers.pooling.reading import query_socket, read_by


class FeedForwardPooling(Pooling):
    """sum_t a_t states_t, a = softmax_t(tanh(w · states_t + b)): without a query, and independent of order.

    Scores are in [-1, 1], so weights differ by a factor of e² at most.

    Cost: O(m·d)
    """

    aliases = "raffel_ellis, 前馈"

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.out_dim = dim
        self.to_score = nn.Linear(dim, 1)
        self.attention = query_socket(DotScore(1, 1))
        nn.init.normal_(self.to_score.weight, std=dim**-0.5)
        nn.init.zeros_(self.to_score.bias)

    def forward(self, states: Tensor, mask: Tensor | None = None, query: Tensor | None = None) -> Tensor:
        """states (batch, n, dim) → (batch, dim)."""
        scores = torch.tanh(self.to_score(states))  # a key of width one; the query, 1, leaves it as it is
        return read_by(self.attention, states.new_ones(len(states), 1, 1), scores, states, mask)
