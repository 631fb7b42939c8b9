"""Word vectors: a word told from drawn ones by the words around it (Mikolov et al. 2013, https://arxiv.org/abs/1310.4546).

With `buckets` the vector of a word is the mean of its own and those of its character n-grams: fastText
(https://arxiv.org/abs/1607.04606).
"""

from typing import Annotated, cast

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
from regard.models.spelled_words import SpelledWords
from regard.records import Batch

Dim = Annotated[Size, Doc("Width of the vectors.")]
Buckets = Annotated[Count, Doc("Vectors that character n-grams share by their hash; 0: words have no other vector.")]
Shortest = Annotated[Size, Doc("Characters of the shortest n-gram, < and > at the ends of a word counted.")]
Longest = Annotated[Size, Doc("Characters of the longest n-gram.")]

TEXT = "text"  # the column whose words get vectors


class WordVectors(Model):
    """-log σ(u · v) for a word u near v and -log σ(-u' · v) for drawn u'; the rows that a batch reads alone learn."""

    def __init__(self, embedder: Embedder, vocab_size: int, *, mean: bool) -> None:
        """With `mean` v is the mean of the vectors around u (CBOW), else each of them in turn (skip-gram)."""
        super().__init__()
        self.embedder, self.mean = embedder, mean
        self.outputs = nn.Parameter(torch.zeros(vocab_size, embedder.dim))

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        """Losses (word, 1) in nats; `smoothing` has no meaning here."""
        contexts, targets = (cast(Tensor, batch.columns[name]) for name in (CONTEXTS, TARGETS))
        read, contexts = numbered(contexts, len(self.outputs))
        drawn, targets = numbered(targets, len(self.outputs))
        outputs = functional.embedding(drawn, self.outputs, sparse=True)
        inputs = self.embedder.word_vectors(read)
        return noise_contrast(inputs, outputs, contexts, targets, mean=self.mean).unsqueeze(-1)

    def counted(self, batch: Batch) -> Tensor:
        """(word, 1): all of them."""
        targets = cast(Tensor, batch.columns[TARGETS])
        return torch.ones(len(targets), 1, dtype=torch.bool, device=targets.device)

    def vectors(self) -> Tensor:
        """Of all ids, (vocab, dim)."""
        return self.embedder.word_vectors(torch.arange(len(self.outputs), device=self.device))


@known_as("sgns, word2vec, skip_gram_with_negative_sampling")
def skip_gram(
    columns: Columns, *, dim: Dim = 100, buckets: Buckets = 0, shortest: Shortest = 3, longest: Longest = 6
) -> WordVectors:
    """The words around a word each tell it from drawn ones (SGNS)."""
    return _built(columns, dim, buckets, shortest, longest, mean=False)


@known_as("continuous_bag_of_words")
def cbow(
    columns: Columns, *, dim: Dim = 100, buckets: Buckets = 0, shortest: Shortest = 3, longest: Longest = 6
) -> WordVectors:
    """The mean of the words around a word tells it from drawn ones (https://arxiv.org/abs/1301.3781, section 3.1)."""
    return _built(columns, dim, buckets, shortest, longest, mean=True)


def numbered(ids: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Ids of `size` kinds, -1 for none → those that are there, rising, and the ids as places among them."""
    given = ids.long()
    there = torch.zeros(size + 1, dtype=torch.bool, device=ids.device)
    there[given.flatten()] = True  # -1 is the last
    there[size] = False
    rows = there.nonzero().squeeze(-1)
    places = torch.full((size + 1,), -1, dtype=torch.int32, device=ids.device)
    places[rows] = torch.arange(len(rows), dtype=torch.int32, device=ids.device)
    return rows, places[given]


def _built(columns: Columns, dim: int, buckets: int, shortest: int, longest: int, *, mean: bool) -> WordVectors:
    column = cast(TextColumn, columns[TEXT])
    if buckets and longest < shortest:
        raise PartError(f"is {longest}, less than the shortest of {shortest}", f"{shortest} or more", setting="longest")
    embedder: Embedder
    if buckets:
        words = [piece.strip() for piece in column.pieces(range(len(column)))]
        embedder = SpelledWords(words, dim, buckets=buckets, shortest=shortest, longest=longest)
    else:
        embedder = WordEmbedder(len(column), dim, None, scale=False, dropout=0.0)
    for table in embedder.parameters():
        nn.init.uniform_(table, -0.5 / dim, 0.5 / dim)
    return WordVectors(embedder, len(column), mean=mean)
