"""Vectors of words by their spelling: fastText's character n-grams (https://arxiv.org/abs/1607.04606)."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.layers.embedders.embedder import Embedder
from regard.ops.dropout import Dropout

FIRST, PRIME, LIMIT = 2166136261, 16777619, 2**32  # of the FNV-1a hash


class SpelledWords(Embedder):
    """v_w = mean of E[w] and B[hash(g) mod buckets] of each n-gram g of <w>, `shortest` to `longest` characters.

    < and > alone are none, as in fastText: every word has them.
    """

    starts: Tensor
    spelled: Tensor

    def __init__(self, words: Sequence[str], dim: int, *, buckets: int, shortest: int, longest: int) -> None:
        super().__init__()
        self.dim, self.buckets, self.shortest, self.longest = dim, buckets, shortest, longest
        self.table = nn.Parameter(torch.empty(len(words) + buckets, dim))  # words, then n-grams
        self.vocab_size = len(words)
        rows = [[place, *self.ngrams(word)] for place, word in enumerate(words)]
        lengths = torch.tensor([0, *map(len, rows)])
        self.register_buffer("starts", lengths.cumsum(0), persistent=False)
        self.register_buffer("spelled", torch.tensor(list(chain.from_iterable(rows))), persistent=False)
        self.dropout = Dropout(0.0)

    def forward(self, ids: Tensor, past: Any = None) -> tuple[Tensor, Any]:
        """ids (batch, n) → vectors (batch, n, dim) and how many places there are now."""
        known, places = ids.unique(return_inverse=True)
        return self.word_vectors(known)[places], (past or 0) + ids.shape[-1]

    def word_vectors(self, ids: Tensor) -> Tensor:
        """ids (n,), each once → vectors (n, dim); the gradient of the table is sparse."""
        lengths = self.starts[ids + 1] - self.starts[ids]
        begins = lengths.cumsum(0) - lengths
        inside = torch.arange(int(lengths.sum()), device=ids.device) - begins.repeat_interleave(lengths)
        found = self.spelled[self.starts[ids].repeat_interleave(lengths) + inside]
        return self._means(found, begins)

    def of_spelling(self, word: str) -> Tensor | None:
        """Return the vector (dim,) of a word that is not in the vocabulary; None where it has no n-gram."""
        found = torch.tensor(self.ngrams(word), dtype=torch.int64, device=self.table.device)
        return self._means(found, found.new_zeros(1))[0] if len(found) else None

    def ngrams(self, word: str) -> list[int]:
        """Return the rows of a word's n-grams."""
        marked = f"<{word}>"
        grams = (
            marked[first : first + length]
            for first in range(len(marked))
            for length in range(self.shortest, self.longest + 1)
            if first + length <= len(marked) and not (length == 1 and first in (0, len(marked) - 1))
        )
        return [self.vocab_size + hashed(gram) % self.buckets for gram in grams]

    def _means(self, found: Tensor, begins: Tensor) -> Tensor:
        """Rows of the table one after the other, where each word begins → the mean of each word."""
        there = torch.zeros(len(self.table), dtype=torch.bool, device=found.device)
        there[found] = True
        rows = there.nonzero().squeeze(-1)
        places = torch.empty(len(self.table), dtype=torch.int64, device=found.device)
        places[rows] = torch.arange(len(rows), device=found.device)
        read = functional.embedding(rows, self.table, sparse=True)
        return functional.embedding_bag(places[found], read, begins, mode="mean")


def hashed(text: str) -> int:
    """Return FNV-1a of the bytes, each taken as a signed number, as fastText does."""
    code = FIRST
    for byte in text.encode():
        code = (code ^ (byte | 0xFFFFFF00 if byte > 127 else byte)) * PRIME % LIMIT
    return code
