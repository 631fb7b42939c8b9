"""The contract of fusions: what the words of a passage know of the question before an encoder reads them."""

from abc import ABC, abstractmethod

from torch import Tensor, nn

from regard.records import Sequences


class Fusion(nn.Module, ABC):
    """Vectors of a passage, `dim` wide. Built with (word_dim, vector_dim, sockets), the widths of words and of vectors.

    Its attention has the roles OWN of the passage and READ of the question. What stands under padding changes nothing.
    """

    dim: int

    @abstractmethod
    def forward(self, passage: Sequences, question: Sequences, vector: Tensor) -> Tensor:
        """Return (batch, n, dim).

        Of words (batch, n, word_dim) and (batch, m, word_dim), and of the question as one vector (batch, vector_dim).
        """
