"""Word vectors, trained with negative sampling (word2vec: Mikolov et al. 2013, https://arxiv.org/abs/1310.4546).

With `buckets` the vector of a word is the mean of its own and those of its character n-grams: fastText
(https://arxiv.org/abs/1607.04606).
"""

from collections.abc import Sequence
from itertools import chain
from typing import Annotated, Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.aliases import known_as
from regard.config import Doc
from regard.config.bounds import Count, Size
from regard.data.columns import Columns, TextColumn
from regard.data.word_windows import CONTEXTS, TARGETS
from regard.errors import PartError
from regard.layers.embedders.embedder import Embedder
from regard.layers.embedders.words import WordEmbedder
from regard.layers.noise_contrast import noise_contrast
from regard.models.model import Model
from regard.ops.dropout import Dropout
from regard.records import TEXT, Batch

Dim = Annotated[Size, Doc("Width of the vectors.")]
Buckets = Annotated[Count, Doc("Number of hash buckets of character n-grams; 0: words have their own vector alone.")]
_Shortest = Annotated[Size, Doc("Minimum character n-gram length; word boundaries < and > count.")]
Longest = Annotated[Size, Doc("Maximum character n-gram length.")]

_BASIS, _PRIME, _LIMIT = 2166136261, 16777619, 2**32  # of the FNV-1a hash


class SpelledWords(Embedder):
    """v_w = mean of E[w] and B[hash(g) mod buckets] over n-grams g of <w> of `min_ngram` to `max_ngram` characters.

    < and > alone are not n-grams, as in fastText: every word has them.
    """

    starts: Tensor
    spelled: Tensor

    def __init__(self, words: Sequence[str], dim: int, *, buckets: int, min_ngram: int, max_ngram: int) -> None:
        super().__init__()
        self.dim, self.buckets, self.min_ngram, self.max_ngram = dim, buckets, min_ngram, max_ngram
        self.table = nn.Parameter(torch.empty(len(words) + buckets, dim))  # words, then n-grams
        self.vocab_size = len(words)
        rows = [[place, *self.ngrams(word)] for place, word in enumerate(words)]
        lengths = torch.tensor([0, *map(len, rows)])
        self.register_buffer("starts", lengths.cumsum(0), persistent=False)
        self.register_buffer("spelled", torch.tensor(list(chain.from_iterable(rows))), persistent=False)
        self.dropout = Dropout(0.0)

    def forward(self, ids: Tensor, past: Any = None) -> tuple[Tensor, Any]:
        """Return vectors (batch, n, dim) of ids (batch, n), and the number of places so far."""
        known, places = ids.unique(return_inverse=True)
        return self.word_vectors(known)[places], (past or 0) + ids.shape[-1]

    def word_vectors(self, ids: Tensor) -> Tensor:
        lengths = self.starts[ids + 1] - self.starts[ids]
        begins = lengths.cumsum(0) - lengths
        inside = torch.arange(int(lengths.sum()), device=ids.device) - begins.repeat_interleave(lengths)
        found = self.spelled[self.starts[ids].repeat_interleave(lengths) + inside]
        return self._means(found, begins)

    def of_spelling(self, word: str) -> Tensor | None:
        found = torch.tensor(self.ngrams(word), dtype=torch.int64, device=self.table.device)
        return self._means(found, found.new_zeros(1))[0] if len(found) else None

    def ngrams(self, word: str) -> list[int]:
        """Return the rows of a word's n-grams."""
        marked = f"<{word}>"
        grams = (
            marked[first : first + length]
            for first in range(len(marked))
            for length in range(self.min_ngram, self.max_ngram + 1)
            if first + length <= len(marked) and not (length == 1 and first in (0, len(marked) - 1))
        )
        return [self.vocab_size + hashed(gram) % self.buckets for gram in grams]

    def _means(self, found: Tensor, begins: Tensor) -> Tensor:
        """Return the mean of each word, given concatenated rows of the table and the start of each word."""
        there = torch.zeros(len(self.table), dtype=torch.bool, device=found.device)
        there[found] = True
        rows = there.nonzero().squeeze(-1)
        places = torch.empty(len(self.table), dtype=torch.int64, device=found.device)
        places[rows] = torch.arange(len(rows), device=found.device)
        read = functional.embedding(rows, self.table, sparse=True)
        return functional.embedding_bag(places[found], read, begins, mode="mean")


class WordVectors(Model):
    """-log σ(u · v) for a word u near v and -log σ(-u' · v) for negative samples u'; only rows in the batch learn."""

    def __init__(self, embedder: Embedder, vocab_size: int, *, mean: bool) -> None:
        """With `mean` v is the mean of the context vectors of u (CBOW), else each of them in turn (skip-gram)."""
        super().__init__()
        self.embedder, self.mean = embedder, mean
        self.outputs = nn.Parameter(torch.zeros(vocab_size, embedder.dim))

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        contexts, targets = (cast(Tensor, batch.columns[name]) for name in (CONTEXTS, TARGETS))
        read, contexts = numbered(contexts, len(self.outputs))
        drawn, targets = numbered(targets, len(self.outputs))
        outputs = functional.embedding(drawn, self.outputs, sparse=True)
        inputs = self.embedder.word_vectors(read)
        return noise_contrast(inputs, outputs, contexts, targets, mean=self.mean).unsqueeze(-1)

    def counted(self, batch: Batch) -> Tensor:
        targets = cast(Tensor, batch.columns[TARGETS])
        return torch.ones(len(targets), 1, dtype=torch.bool, device=targets.device)

    def vectors(self) -> Tensor:
        """Vectors (vocab, dim) of all ids."""
        return self.embedder.word_vectors(torch.arange(len(self.outputs), device=self.device))


@known_as("sgns, word2vec, skip_gram_with_negative_sampling")
def skip_gram(
    columns: Columns, *, dim: Dim = 100, buckets: Buckets = 0, min_ngram: _Shortest = 3, max_ngram: Longest = 6
) -> WordVectors:
    """Skip-gram with negative sampling (SGNS): each context word predicts the word."""
    return _built(columns, dim, buckets, min_ngram, max_ngram, mean=False)


@known_as("continuous_bag_of_words")
def cbow(
    columns: Columns, *, dim: Dim = 100, buckets: Buckets = 0, min_ngram: _Shortest = 3, max_ngram: Longest = 6
) -> WordVectors:
    """CBOW: the mean of the context words predicts the word (https://arxiv.org/abs/1301.3781, section 3.1)."""
    return _built(columns, dim, buckets, min_ngram, max_ngram, mean=True)


def numbered(ids: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Return the distinct ids in ascending order, and the ids as places among them; -1 for none, `size` kinds."""
    given = ids.long()
    there = torch.zeros(size + 1, dtype=torch.bool, device=ids.device)
    there[given.flatten()] = True  # -1 is the last
    there[size] = False
    rows = there.nonzero().squeeze(-1)
    places = torch.full((size + 1,), -1, dtype=torch.int32, device=ids.device)
    places[rows] = torch.arange(len(rows), dtype=torch.int32, device=ids.device)
    return rows, places[given]


def hashed(text: str) -> int:
    """Return FNV-1a of the bytes, each taken as a signed number, as fastText does."""
    code = _BASIS
    for byte in text.encode():
        code = (code ^ (byte | 0xFFFFFF00 if byte > 127 else byte)) * _PRIME % _LIMIT
    return code


def _built(columns: Columns, dim: int, buckets: int, min_ngram: int, max_ngram: int, *, mean: bool) -> WordVectors:
    column = cast(TextColumn, columns[TEXT])
    if buckets and max_ngram < min_ngram:
        raise PartError(
            f"is {max_ngram}, less than min_ngram, which is {min_ngram}", f"{min_ngram} or more", setting="max_ngram"
        )
    embedder: Embedder
    if buckets:
        words = [piece.strip() for piece in column.pieces(range(len(column)))]
        embedder = SpelledWords(words, dim, buckets=buckets, min_ngram=min_ngram, max_ngram=max_ngram)
    else:
        embedder = WordEmbedder(len(column), dim, None, scale=False, dropout=0.0)
    for table in embedder.parameters():
        nn.init.uniform_(table, -0.5 / dim, 0.5 / dim)
    return WordVectors(embedder, len(column), mean=mean)
