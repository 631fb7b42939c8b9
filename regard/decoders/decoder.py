"""The contract of decoders."""

from abc import ABC, abstractmethod
from typing import Any

from torch import Tensor, nn

from regard.layers.embedders.embedder import Embedder
from regard.records import Decoded, Encoded, Sequences, State


class Decoder(nn.Module, ABC):
    """Writes a sequence, looking at what encoders saw. Built with (embedder, source_dim, sockets).

    It owns the embedder of what it writes. `dim` is the width of its states. With source_dim None it looks at nothing
    but what it wrote, as a language model does: it then has no part that reads a source, and `start` is given none.
    """

    dim: int
    embedder: Embedder

    @abstractmethod
    def start(self, *encoded: Encoded, rows: Tensor | None = None) -> State:
        """A state with one row per source sentence, or with `rows` (long) naming the sentence of each row.

        Rows of one sentence stand together. Without a source `rows` tells by its length how many rows there are.
        """

    @abstractmethod
    def forward(self, ids: Tensor, state: Any, *, need_weights: bool = False) -> tuple[Decoded, State]:
        """ids (rows, n), each the one before what is to be written → states (rows, n, dim) and the state after.

        Any split of the ids into chunks gives the same. The state given is spent.
        """

    def forced(self, read: Sequences, state: Any, *, need_weights: bool = False) -> Decoded:
        """Teacher forcing: all that is read at once. A decoder that must know what is padding asks the mask."""
        decoded: Decoded = self(read.items, state, need_weights=need_weights)[0]
        return decoded
