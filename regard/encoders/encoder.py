"""The contract of encoders."""

from abc import ABC, abstractmethod

from torch import nn

from regard.records import Encoded, Sequences


class Encoder(nn.Module, ABC):
    """Reads a sequence of vectors. Built with (input_dim, sockets). `dim` is the width of its states."""

    dim: int

    @abstractmethod
    def forward(self, source: Sequences) -> Encoded:
        """vectors (batch, source, input_dim) → states (batch, source, dim), final (batch, dim).

        A row of length 0 gives zeros.
        """
