"""The contract of embedders: ids in, vectors out."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor, nn
from torch.nn import functional

from regard.errors import PartError
from regard.ops.dropout import Dropout
from regard.ops.kernels.search import WordSum
from regard.text.vector_table import VectorTable


class Embedder(nn.Module, ABC):
    """Words, n-grams, positions. Built with (vocab_size, dim, position), position being a `Position` or None.

    `dim` is the width of its vectors. It reads sequences of `max_length` ids at most; None: of any length.
    """

    dim: int
    dropout: Dropout  # of its vectors
    max_length: int | None = None

    @abstractmethod
    def forward(self, ids: Tensor, past: Any = None) -> tuple[Tensor, Any]:
        """ids (batch, n) → vectors (batch, n, dim), past: a counter of positions, or the last ids."""

    def word_sum(self, past: Any, steps: int) -> WordSum | None:
        """Return the summands of its vectors for the next `steps` ids after a past; None: they are not such sums.

        Compiled code computes the vectors from them without calling the module.
        """
        return None

    def output_weight(self) -> nn.Parameter | None:
        """Return the embedding matrix (vocab_size, dim) that a head may share, or None without one of that shape."""
        return None

    def word_vectors(self, ids: Tensor) -> Tensor:
        """Return vectors (n, dim) of ids (n,), each once, without positions; a table's gradient is sparse.

        Raises PartError where a word has no vector of its own.
        """
        table = self.output_weight()
        if table is None:
            raise PartError("has no vectors of single words", "such as words", setting="embedder")
        return functional.embedding(ids, table, sparse=True)

    def of_spelling(self, word: str) -> Tensor | None:
        """Return the vector (dim,) of a word that is not in the vocabulary; None where it has none."""
        return None

    def take_words(self, words: Sequence[str], read: Callable[[Path, Collection[str]], VectorTable]) -> str:
        """Initialise words, before the first update, with vectors that `read` finds; return a message.

        `words` are those of all ids, "" for an id without one. By default vectors keep their random initialisation.
        """
        return ""

    def counted(self, ids: Tensor) -> Sequence[Tensor]:
        """Return numbers (…) of each kind to count in ids (batch, n) of the training text; none by default."""
        return ()

    def learn(self, counts: Sequence[tuple[Tensor, Tensor]]) -> None:
        """Use the counts, before the first update: per kind the numbers in ascending order, and their counts."""
