"""Recurrent ByteNet: recurrent stacks in place of the convolutional ones (https://arxiv.org/abs/1610.10099v1)."""

from typing import Annotated

from regard.attention import Sockets
from regard.config import Doc
from regard.config.bounds import Count, Size
from regard.config.common_settings import DropoutProbability, NumLayers
from regard.decoders.coupled import CoupledDecoder, Coupling, Merge
from regard.layers.embedders.embedder import Embedder
from regard.layers.recurrent import RECURRENT, Cell, Stack
from regard.registry import Choice


class RecurrentByteNetDecoder(CoupledDecoder):
    """num_layers recurrent layers over [word before + source at the same place], by the span `same_position`.

    With `couplings: 1` only the first word reads the source: an encoder-decoder without attention.
    """

    of_source = ("merge", "couplings")

    def __init__(
        self,
        embedder: Embedder,
        source_dim: int | None,
        sockets: Sockets,
        *,
        cell: Cell = Choice("gru"),
        hidden_dim: Annotated[Size, Doc("Width of the hidden state.")] = 256,
        num_layers: NumLayers = 1,
        merge: Annotated[Merge, Doc("Merge of the previous word with the source state at its position.")] = "add",
        couplings: Annotated[Count | None, Doc("Number of target positions that read the source; null: all.")] = None,
        dropout: DropoutProbability = 0.1,
    ) -> None:
        coupling = Coupling(embedder.dim, embedder.dim, source_dim, sockets, merge=merge, couplings=couplings)
        widths = [embedder.dim, *[hidden_dim] * num_layers]
        stack = Stack(
            [RECURRENT.build(cell, width, hidden_dim, place="cell") for width in widths[:-1]], dropout=dropout
        )
        super().__init__(embedder, coupling, stack, dropout=dropout)
