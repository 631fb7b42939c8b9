"""Bags of word n-grams in hashed buckets, as in fastText (https://arxiv.org/abs/1607.01759, section 2.1)."""

import math
from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.config import Doc
from regard.config.bounds import NotNegative, Size
from regard.config.common_settings import DropoutProbability
from regard.layers.embedders.embedder import Embedder
from regard.layers.positions.position import Position
from regard.ops.dropout import Dropout
from regard.records import PAD

FACTOR = 116049371  # of the rolling hash, which overflows on purpose


class WordNgramEmbedder(Embedder):
    """e_i = E[w_i] + sum over n = 2 … `order` of B[hash(w_(i-n+1) … w_i)], times sqrt(dim) with `scale`; its place.

    An n-gram has the bucket of its hash, shared with others, so nothing is counted. Before the first word there is
    padding. Mean pooling over it, without an encoder, is fastText.
    """

    aliases = "hashed_ngrams, bag_of_word_ngrams, bigrams"

    def __init__(
        self,
        vocab_size: int,
        dim: int,
        position: Position | None = None,
        *,
        order: Annotated[Size, Doc("Maximum n-gram length.")] = 2,
        buckets: Annotated[Size, Doc("Number of hash buckets shared by all n-grams of two words or more.")] = 100_000,
        ngram_std: Annotated[
            NotNegative | None,
            Doc("Standard deviation of n-gram vectors at the start; 0: unseen ones are zero; null: as words."),
        ] = None,
        scale: Annotated[bool, Doc("Multiply the embeddings by sqrt(dim).")] = True,
        dropout: DropoutProbability = 0.1,
    ) -> None:
        super().__init__()
        self.dim, self.order, self.buckets = dim, order, buckets
        self.scale = math.sqrt(dim) if scale else 1.0
        self.table = nn.Parameter(torch.empty(vocab_size, dim))
        self.more = nn.Parameter(torch.empty(buckets if order > 1 else 0, dim))
        nn.init.normal_(self.table, std=dim**-0.5)
        nn.init.normal_(self.more, std=dim**-0.5 if ngram_std is None else ngram_std)
        self.position, self.dropout = position, Dropout(dropout)
        self.max_length = None if position is None else position.max_length

    def forward(self, ids: Tensor, past: tuple[Tensor, int] | None = None) -> tuple[Tensor, tuple[Tensor, int]]:
        """ids (batch, n) → vectors (batch, n, dim); the past is the last order - 1 ids and a counter of places."""
        before, start = (ids.new_full((len(ids), self.order - 1), PAD), 0) if past is None else past
        seen = torch.cat([before, ids], dim=1)
        vectors = functional.embedding(ids, self.table)
        if self.order > 1 and ids.numel():
            grams = self.hashed(seen).flatten(0, 1)
            vectors = vectors + functional.embedding_bag(grams, self.more, mode="sum").view_as(vectors)
        vectors = vectors * self.scale
        if self.position is not None:
            vectors = vectors + self.position(start, ids.shape[-1]).to(vectors.dtype)
        return self.dropout(vectors), (seen[:, seen.shape[1] - self.order + 1 :], start + ids.shape[-1])

    def output_weight(self) -> nn.Parameter:
        return self.table

    def hashed(self, seen: Tensor) -> Tensor:
        """seen (batch, order - 1 + n) → the buckets of the n-grams that end at each of the n, (batch, n, order - 1)."""
        length, found = seen.shape[1] - self.order + 1, []
        code = seen[:, self.order - 1 :]
        for back in range(1, self.order):
            first = self.order - 1 - back
            code = code * FACTOR + seen[:, first : first + length]
            found.append(code % self.buckets)
        return torch.stack(found, dim=-1)
