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
        """Return what its vectors are the sums of, for the next `steps` ids behind a past; None: they are no such sums.

        Compiled code makes the vectors from it without calling the module.
        """
        return None

    def output_weight(self) -> nn.Parameter | None:
        """The table (vocab_size, dim) a head may share, or None when there is none of that shape."""
        return None

    def word_vectors(self, ids: Tensor) -> Tensor:
        """ids (n,), each once → vectors (n, dim) of words by themselves, without places; a table's gradient is sparse.

        Raises PartError where a word has no vector of its own.
        """
        table = self.output_weight()
        if table is None:
            raise PartError("has no vectors of words by themselves", "words, for one", setting="embedder")
        return functional.embedding(ids, table, sparse=True)

    def of_spelling(self, word: str) -> Tensor | None:
        """Return the vector (dim,) of a word that is not in the vocabulary; None where it has none."""
        return None

    def take_words(self, words: Sequence[str], read: Callable[[Path, Collection[str]], VectorTable]) -> str:
        """Before the first update: start from vectors of words that `read` finds in a file or a run; return a message.

        `words` are those of all ids, "" for an id that stands for none. Most start as they were drawn.
        """
        return ""

    def counted(self, ids: Tensor) -> Sequence[Tensor]:
        """ids (batch, n) of the training text → numbers to be counted, (…) of each kind; most want nothing counted."""
        return ()

    def learn(self, counts: Sequence[tuple[Tensor, Tensor]]) -> None:
        """Before the first update, for each kind: the numbers in the training text, rising, and how often each is."""
