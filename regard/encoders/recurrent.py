"""Recurrent encoders: both ways (https://arxiv.org/abs/1409.0473), or deep and reversed (arXiv:1409.3215)."""

from collections.abc import Sequence
from typing import Annotated, Literal

from torch import nn

from regard.aliases import alias
from regard.attention import Sockets, turn_around
from regard.config import Doc
from regard.config.bounds import Size
from regard.config.common_settings import DropoutProbability, NumLayers
from regard.encoders.encoder import Encoder
from regard.errors import PartError
from regard.layers.recurrent import RECURRENT, Bidirectional, Cell, Recurrent, ResidualFrom, note_no_residual, reverse
from regard.layers.recurrent.stack import adds
from regard.ops.dropout import Dropout
from regard.ops.modules import module_list
from regard.records import Encoded, Sequences
from regard.registry import Choice


class RecurrentEncoder(Encoder):
    """num_layers layers of `hidden_dim` in each direction; `final` is the last state of the highest, both ways merged.

    reverse: the source is read backwards within its true length; its states come back in the order of the words.
    bidirectional "lowest": the first layer alone reads both ways (https://arxiv.org/abs/1609.08144); that paper adds to
    what a layer writes what it reads, from layer 3 on (`residual_from`).
    """

    aliases = (
        "bahdanau, luong, recurrent_neural_network, 循环神经网络, rnnsearch, seq2seq",
        alias("birnn, brnn, bidirectional_rnn, 双向_rnn, 双向循环神经网络", {"cell": "rnn", "bidirectional": True}),
        alias("bigru, bidirectional_gru", {"cell": "gru", "bidirectional": True}),
        alias("bilstm, blstm, bidirectional_lstm", {"cell": "lstm", "bidirectional": True}),
        alias("bisru, bidirectional_sru", {"cell": "sru", "bidirectional": True}),
        alias("cho", {"cell": "gru", "bidirectional": False}),
        alias("gnmt", {"cell": "lstm", "num_layers": 8, "bidirectional": "lowest", "residual_from": 3}),
        alias("sutskever", {"cell": "lstm", "num_layers": 4, "bidirectional": False, "reverse": True}),
    )

    def __init__(
        self,
        input_dim: int,
        sockets: Sockets,
        *,
        cell: Cell = Choice("gru"),
        hidden_dim: Annotated[Size, Doc("Width of the hidden state, per direction.")] = 256,
        num_layers: NumLayers = 1,
        bidirectional: Annotated[
            bool | Literal["lowest"], Doc("Bidirectional layers: all, none, or the lowest alone.")
        ] = True,
        merge: Annotated[
            Literal["concatenate", "add"], Doc("Merge of both directions: concatenate or add.")
        ] = "concatenate",
        reverse: Annotated[bool, Doc("Reverse the source.")] = False,
        residual_from: ResidualFrom = None,
        dropout: DropoutProbability = 0.1,
    ) -> None:
        super().__init__()
        note_no_residual(num_layers, residual_from)
        self.reverse, self.dropout, self.residual_from = reverse, Dropout(dropout), residual_from
        layers: list[Bidirectional | Recurrent] = []
        for number in range(num_layers):
            width = layers[-1].dim if number else input_dim
            both = bidirectional is True or (bidirectional == "lowest" and number == 0)
            ways = [RECURRENT.build(cell, width, hidden_dim, place="cell") for _ in range(2 if both else 1)]
            layers.append(Bidirectional(*ways, merge=merge) if both else ways[0])
            if adds(number, residual_from) and layers[-1].dim != width:
                problem = (
                    f"layer {number + 1} reads {width} numbers and writes {layers[-1].dim}, so they cannot be added"
                )
                raise PartError(problem, f"begin with layer {number + 2}", setting="residual_from")
        self.layers: Sequence[nn.Module] = module_list(layers)
        if reverse:
            turn_around(self)
        self.dim = layers[-1].dim

    def forward(self, source: Sequences) -> Encoded:
        """vectors (batch, source, input_dim) → states (batch, source, dim); `past` holds one past per layer."""
        mask, pasts = source.mask, []
        states = reverse(source.items, mask) if self.reverse else source.items
        for number, layer in enumerate(self.layers):
            below = self.dropout(states) if number else states
            written, past = layer(below, mask)
            states = written + states if adds(number, self.residual_from) else written
            pasts.append(past)
        states = self.dropout(reverse(states, mask) if self.reverse else states)
        return Encoded(states, mask, pasts[-1][0], past=tuple(pasts))
