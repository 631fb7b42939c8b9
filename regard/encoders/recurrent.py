"""Recurrent encoders: both ways (https://arxiv.org/abs/1409.0473), or deep and reversed (arXiv:1409.3215)."""

from typing import Literal

from torch import nn

from regard.attention import Sockets
from regard.dropout import Dropout
from regard.encoders.encoder import Encoder
from regard.layers.recurrent import RECURRENT, Bidirectional, Cell, reverse
from regard.modules import module_list
from regard.records import Encoded, Sequences
from regard.registry import Choice


class RecurrentEncoder(Encoder):
    """num_layers layers of `hidden_dim` in each direction; `final` is what the top layer ends with, both ways merged.

    reverse: the source is read backwards within its true length; its states come back in the order of the words.
    """

    def __init__(
        self,
        input_dim: int,
        sockets: Sockets,
        *,
        cell: Cell = Choice("gru"),
        hidden_dim: int = 256,
        num_layers: int = 1,
        bidirectional: bool = True,
        merge: Literal["concatenate", "add"] = "concatenate",
        reverse: bool = False,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.dim = hidden_dim * (2 if bidirectional and merge == "concatenate" else 1)
        self.reverse, self.dropout = reverse, Dropout(dropout)
        layers: list[nn.Module] = []
        for number in range(num_layers):
            width = self.dim if number else input_dim
            ways = [RECURRENT.build(cell, width, hidden_dim) for _ in range(2 if bidirectional else 1)]
            layers.append(Bidirectional(*ways, merge=merge) if bidirectional else ways[0])
        self.layers = module_list(layers)

    def forward(self, source: Sequences) -> Encoded:
        """vectors (batch, source, input_dim) → states (batch, source, dim); `past` holds one past per layer."""
        mask, pasts = source.mask, []
        states = reverse(source.items, mask) if self.reverse else source.items
        for number, layer in enumerate(self.layers):
            states, past = layer(self.dropout(states) if number else states, mask)
            pasts.append(past)
        states = self.dropout(reverse(states, mask) if self.reverse else states)
        return Encoded(states, mask, pasts[-1][0], past=tuple(pasts))
