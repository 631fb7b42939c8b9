"""The attention of Att-BLSTM for relation classification (https://aclanthology.org/P16-2034, equations 9 to 12)."""

import torch
from torch import Tensor, nn

from regard.attention.scores.dot import DotScore
from regard.layers.pooling.pooling import Pooling
from regard.layers.pooling.reading import query_socket, read_by


class TanhAttentionPooling(Pooling):
    """tanh(sum_t a_t states_t), a = softmax_t(w · tanh(states_t)), w learned: `attention` without a hidden layer.

    Cost: O(m·d)
    """

    aliases = "att_blstm, att_bilstm"

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.out_dim = dim
        self.query = nn.Parameter(torch.empty(1, dim))
        self.attention = query_socket(DotScore(dim, dim))
        nn.init.normal_(self.query, std=dim**-0.5)

    def forward(self, states: Tensor, mask: Tensor | None = None, query: Tensor | None = None) -> Tensor:
        """states (batch, n, dim) → (batch, dim)."""
        queries = self.query.expand(len(states), -1, -1)
        return torch.tanh(read_by(self.attention, queries, torch.tanh(states), states, mask))
