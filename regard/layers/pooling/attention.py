"""Attention with a learned context vector as the query (https://aclanthology.org/N16-1174, equations 5-7)."""

from typing import Annotated

import torch
from torch import Tensor, nn

from regard.aliases import alias
from regard.attention import SCORES
from regard.config import Doc
from regard.config.bounds import Size
from regard.layers.pooling.pooling import Pooling
from regard.layers.pooling.reading import ScoreChoice, query_socket, read_by
from regard.registry import Choice

_STD = 0.1  # of the weights at the start


class AttentionPooling(Pooling):
    """sum_t a_t states_t, a = softmax_t(score(u, tanh(W states_t + b))), u learned; score "dot" as in the paper.

    The context vector u replaces the decoder's state of translation: one query per text.

    Cost: O(m·d·h)
    """

    aliases = (
        "word_level",
        alias("inner, 内", note="one learned query over a text (others mean a text that attends to itself)"),
    )

    def __init__(
        self,
        dim: int,
        *,
        hidden_dim: Annotated[Size | None, Doc("Width of the hidden layer; null: the width of the states.")] = None,
        bias: Annotated[bool, Doc("Add a bias inside tanh.")] = True,
        score: Annotated[ScoreChoice, Doc("Score between the learned query and the states.")] = Choice("dot"),
    ) -> None:
        """`hidden_dim` is the width of u, None: that of the states."""
        super().__init__()
        hidden = dim if hidden_dim is None else hidden_dim
        self.out_dim = dim
        self.to_hidden = nn.Linear(dim, hidden, bias=bias)
        self.query = nn.Parameter(torch.empty(1, hidden))
        self.attention = query_socket(SCORES.build(score, hidden, hidden, place="score"))
        for weight in (self.to_hidden.weight, self.query):
            nn.init.normal_(weight, std=_STD)
        if bias:
            nn.init.zeros_(self.to_hidden.bias)

    def forward(self, states: Tensor, mask: Tensor | None = None, query: Tensor | None = None) -> Tensor:
        """states (batch, n, dim) → (batch, dim)."""
        hidden = torch.tanh(self.to_hidden(states))
        return read_by(self.attention, self.query.expand(len(states), -1, -1), hidden, states, mask)
