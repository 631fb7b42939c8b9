"""The contract of fusions: the question's effect on passage words, before the encoder."""

from abc import ABC, abstractmethod

from torch import Tensor, nn

from regard.records import Sequences


class Fusion(nn.Module, ABC):
    """Vectors (batch, n, dim) of a passage. Built with (word_dim, vector_dim, sockets): widths of words and vectors.

    Its attention has the roles OWN of the passage and READ of the question. Values under padding have no effect.
    """

    dim: int

    @abstractmethod
    def forward(self, passage: Sequences, question: Sequences, vector: Tensor) -> Tensor:
        """Return (batch, n, dim).

        Inputs: words (batch, n, word_dim) and (batch, m, word_dim), and the question's vector (batch, vector_dim).
        """
