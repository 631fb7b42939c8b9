"""A passage compared with itself: the self-matching of R-Net (https://aclanthology.org/P17-1018, section 3.3)."""

from typing import Annotated

import torch
from torch import nn

from regard.attention import Sockets
from regard.config import Doc
from regard.config.bounds import Size
from regard.config.common_settings import DropoutProbability
from regard.encoders.encoder import Encoder
from regard.layers.recurrent import RECURRENT, Bidirectional, Cell
from regard.ops.dropout import Dropout
from regard.records import Encoded, Sequences
from regard.registry import Choice


class SelfMatchingEncoder(Encoder):
    """states = BiRNN(g · [v; c]), c = SelfAttn(v), g = sigmoid(W [v; c]): what it reads beside what that sees of all.

    The paper puts it behind a recurrent encoder (`sequential`). `final` is the last state of both ways.
    """

    aliases = "r_net, gated_self_matching, gated_self_attention, 自匹配"

    def __init__(
        self,
        input_dim: int,
        sockets: Sockets,
        *,
        cell: Cell = Choice("gru"),
        hidden_dim: Annotated[Size, Doc("Width of the hidden state, per direction.")] = 256,
        dropout: DropoutProbability = 0.1,
    ) -> None:
        super().__init__()
        self.attention = sockets.itself(input_dim)
        width = input_dim + self.attention.context_dim(input_dim)
        self.to_gate = nn.Linear(width, width, bias=False)
        self.layer = Bidirectional(*(RECURRENT.build(cell, width, hidden_dim, place="cell") for _ in range(2)))
        self.dim, self.dropout = self.layer.dim, Dropout(dropout)

    def forward(self, source: Sequences) -> Encoded:
        """vectors (batch, source, input_dim) → states (batch, source, dim)."""
        vectors = source.items.masked_fill(~source.mask.unsqueeze(-1), 0.0)
        seen = self.attention(vectors, self.attention.remember(vectors, mask=source.mask)).context
        joined = torch.cat([vectors, seen], dim=-1)
        gated = torch.sigmoid(self.to_gate(joined)) * joined
        states, past = self.layer(self.dropout(gated), source.mask)
        return Encoded(self.dropout(states), source.mask, past[0], past=(past,))
