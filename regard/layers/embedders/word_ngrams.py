"""Bags of word n-grams in hashed buckets, as in fastText (https://arxiv.org/abs/1607.01759, section 2.1)."""

from typing import Annotated

import torch
from torch import Tensor, nn

from regard.config import Doc
from regard.config.bounds import NotNegative, Size
from regard.config.common_settings import DropoutProbability
from regard.layers.embedders.character_ngrams import NgramEmbedder
from regard.layers.positions.position import Position

FACTOR = 116049371  # of the rolling hash, which overflows on purpose


class WordNgramEmbedder(NgramEmbedder):
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
        std: Annotated[
            NotNegative | None,
            Doc("Standard deviation of word vectors at the start; 0: unseen ones are zero; null: 1 / sqrt(dim)."),
        ] = None,
        ngram_std: Annotated[
            NotNegative | None, Doc("Standard deviation of n-gram vectors at the start; null: as words.")
        ] = None,
        scale: Annotated[bool, Doc("Multiply the embeddings by sqrt(dim).")] = True,
        dropout: DropoutProbability = 0.1,
    ) -> None:
        std = dim**-0.5 if std is None else std
        table = nn.init.normal_(torch.empty(vocab_size, dim), std=std)
        more = nn.init.normal_(
            torch.empty(buckets if order > 1 else 0, dim), std=std if ngram_std is None else ngram_std
        )
        super().__init__(table, more, position, order=order, scale=scale, dropout=dropout)
        self.buckets = buckets

    def rows_of(self, seen: Tensor) -> Tensor:
        """seen (batch, order - 1 + n) → the buckets of the n-grams that end at each of the n, (batch, n, order - 1)."""
        length, found = seen.shape[1] - self.order + 1, []
        code = seen[:, self.order - 1 :]
        for back in range(1, self.order):
            first = self.order - 1 - back
            code = code * FACTOR + seen[:, first : first + length]
            found.append(code % self.buckets)
        return torch.stack(found, dim=-1)
