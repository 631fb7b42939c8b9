"""Bags of character n-grams: the embedding of the first version of ByteNet (https://arxiv.org/abs/1610.10099v1)."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.config import Doc
from regard.config.bounds import Count, Size
from regard.config.common_settings import DropoutProbability
from regard.errors import PartError
from regard.layers.embedders.embedder import Embedder
from regard.layers.positions.position import Position
from regard.ops.dropout import Dropout
from regard.records import PAD

_NEVER = torch.iinfo(torch.int64).max  # behind every code
_Past = tuple[Tensor, int]  # the last order - 1 ids (batch, order - 1), how many places there are


class NgramEmbedder(Embedder):
    """Vectors of ids, `table`, and of the longer n-grams that end at each of them, rows of `more`; then its place."""

    def __init__(
        self, table: Tensor, more: Tensor, position: Position | None, *, order: int, scale: bool, dropout: float
    ) -> None:
        super().__init__()
        self.dim, self.order = table.shape[1], order
        self.scale = math.sqrt(self.dim) if scale else 1.0
        self.table, self.more = nn.Parameter(table), nn.Parameter(more)
        self.position, self.dropout = position, Dropout(dropout)
        self.max_length = None if position is None else position.max_length

    @abstractmethod
    def rows_of(self, seen: Tensor) -> Tensor:
        """seen (batch, order - 1 + n) → the row of `more` of each n-gram that ends at each of the n."""

    def forward(self, ids: Tensor, past: _Past | None = None) -> tuple[Tensor, _Past]:
        """ids (batch, n) → vectors (batch, n, dim); the past is the last order - 1 ids and a counter of places."""
        before, start = (ids.new_full((len(ids), self.order - 1), PAD), 0) if past is None else past
        seen = torch.cat([before, ids], dim=1)
        vectors = functional.embedding(ids, self.table)
        if self.order > 1 and ids.numel():
            grams = self.rows_of(seen).flatten(0, 1)
            vectors = vectors + functional.embedding_bag(grams, self.more, mode="sum").view_as(vectors)
        vectors = vectors * self.scale
        if self.position is not None:
            vectors = vectors + self.position(start, ids.shape[-1]).to(vectors.dtype)
        return self.dropout(vectors), (seen[:, seen.shape[1] - self.order + 1 :], start + ids.shape[-1])

    def output_weight(self) -> nn.Parameter:
        return self.table

    @property
    def num_features(self) -> int:
        """The number of rows of `table` and `more`."""
        return len(self.table) + len(self.more)

    def features(self, ids: Tensor) -> Tensor:
        """ids (batch, n) → the rows of the id and of the n-grams that end there, of `more` after `table`."""
        found = ids.unsqueeze(-1)
        if self.order == 1:
            return found
        more = self.rows_of(functional.pad(ids, (self.order - 1, 0), value=PAD))
        return torch.cat([found, len(self.table) + more], dim=-1)

    @torch.no_grad()
    def start_from(self, values: Tensor) -> None:
        """Put values (feature, n) into the first n dimensions of the vectors."""
        for rows, some in zip((self.table, self.more), values.split([len(self.table), len(self.more)]), strict=True):
            rows[:, : some.shape[1]] = some


class CharacterNgramEmbedder(NgramEmbedder):
    """e_i = sum over n = 1 … `order` of E_n[the n ids that end at i], times sqrt(dim) with `scale`; then its place.

    After the `rows` most frequent n-grams of the training text there is one more row for all others. Before the first
    id there is padding. N-grams end at i, so a decoder may use them. E_1 has a row for every id; a head may share it.
    """

    aliases = "bag_of_character_ngrams, bag_of_ngrams"

    codes: Tensor

    def __init__(
        self,
        vocab_size: int,
        dim: int,
        position: Position | None = None,
        *,
        order: Annotated[Size, Doc("Maximum n-gram length.")] = 5,
        rows: Annotated[Count, Doc("Number of most frequent n-grams per length with their own vector.")] = 4000,
        scale: Annotated[bool, Doc("Multiply the embeddings by sqrt(dim).")] = True,
        dropout: DropoutProbability = 0.1,
    ) -> None:
        if vocab_size**order > _NEVER:
            problem = f"{order}-grams of {vocab_size:,} pieces are too many to be numbered"
            raise PartError(problem, "lower it, or cut text.tokenizer into characters", setting="order")
        table = nn.init.normal_(torch.empty(vocab_size, dim), std=dim**-0.5)
        more = nn.init.normal_(torch.empty((order - 1) * (rows + 1), dim), std=dim**-0.5)  # of 2-grams, of 3-grams …
        super().__init__(table, more, position, order=order, scale=scale, dropout=dropout)
        self.vocab_size, self.rows = vocab_size, rows
        self.register_buffer("codes", torch.full((order - 1, rows), _NEVER))  # the known ones of each order, rising

    def counted(self, ids: Tensor) -> list[Tensor]:
        """ids (batch, n), padded behind → the codes of its 2-grams, of its 3-grams …"""
        padded = functional.pad(ids, (self.order - 1, 0), value=PAD)
        return [codes[ids != PAD] for codes in self._coded(padded)]

    @torch.no_grad()
    def learn(self, counts: Sequence[tuple[Tensor, Tensor]]) -> None:
        """Keep the most frequent n-grams of each order; ties go to smaller codes."""
        self.codes.fill_(_NEVER)
        for place, (codes, often) in enumerate(counts):
            kept = codes[often.argsort(descending=True, stable=True)[: self.rows]].sort().values
            self.codes[place, : len(kept)] = kept

    def _coded(self, seen: Tensor) -> list[Tensor]:
        """seen (batch, order - 1 + n) → of 2-grams, 3-grams … the code of that ending at each of the n, (batch, n).

        The code is that of a number whose digits are the ids.
        """
        length, codes = seen.shape[1] - self.order + 1, []
        code = seen[:, self.order - 1 :]
        for back in range(1, self.order):
            first = self.order - 1 - back
            code = code + seen[:, first : first + length] * self.vocab_size**back
            codes.append(code)
        return codes

    def rows_of(self, seen: Tensor) -> Tensor:
        """seen (batch, order - 1 + n) → which row of `more` each n-gram has, (batch, n, order - 1)."""
        rows = []
        for place, code in enumerate(self._coded(seen)):
            known = self.codes[place]
            found = torch.searchsorted(known, code.contiguous())
            if self.rows:
                found = torch.where(known[found.clamp(max=self.rows - 1)] == code, found, self.rows)
            rows.append(found + place * (self.rows + 1))
        return torch.stack(rows, dim=-1)
