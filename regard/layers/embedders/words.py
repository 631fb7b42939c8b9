"""Word embeddings, with positions where the model has them."""

import math
from typing import Annotated, Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.config import Doc
from regard.config.bounds import NotNegative
from regard.config.common_settings import DropoutProbability
from regard.layers.embedders.embedder import Embedder
from regard.layers.positions.position import Position
from regard.ops.dropout import Dropout
from regard.ops.kernels.packing import may_compile
from regard.ops.kernels.search import WordSum
from regard.pieces import BOS, PAD


class WordEmbedder(Embedder):
    """E[id] · sqrt(dim) + PE(place), then dropout (https://arxiv.org/abs/1706.03762, sections 3.4, 3.5 and 5.4).

    merge "concatenate" concatenates position and word: vectors are then 2 · dim wide. The past counts places. E is
    sampled from N(0, std²), 1/dim for std² if it is null. With `zero_start` E[<s>] is 0 wherever it is read.
    With `skip_padding` places are counted from the mask of the ids: a text padded on the left has the vectors that it
    has with padding on the right, and its past is a counter of each row.
    """

    aliases = "word_embedding, 词向量"

    def __init__(
        self,
        vocab_size: int,
        dim: int,
        position: Position | None = None,
        *,
        scale: Annotated[bool, Doc("Multiply the embeddings by sqrt(dim).")] = True,
        std: Annotated[
            NotNegative | None, Doc("Standard deviation of the initial values; null: 1 / sqrt(dim).")
        ] = None,
        merge: Annotated[
            Literal["add", "concatenate"],
            Doc("Add the position vector to the word vector, or concatenate them, which doubles the width."),
        ] = "add",
        zero_start: Annotated[
            bool, Doc("Let the decoder start from a zero vector (and its position), as Marian does; false: from <s>.")
        ] = False,
        skip_padding: Annotated[
            bool, Doc("Do not count padding as positions, so texts may be padded on the left.")
        ] = False,
        dropout: DropoutProbability = 0.1,
    ) -> None:
        super().__init__()
        self.skip_padding = skip_padding
        self.table = nn.Parameter(torch.empty(vocab_size, dim))
        nn.init.normal_(self.table, std=dim**-0.5 if std is None else std)
        self.position, self.merge = position, merge
        self.max_length = None if position is None else position.max_length
        self.scale = math.sqrt(dim) if scale else 1.0
        self.dropout, self.zero_start = Dropout(dropout), zero_start
        self.dim = dim * 2 if position is not None and merge == "concatenate" else dim

    def forward(self, ids: Tensor, past: Any = None) -> tuple[Tensor, Any]:
        start = 0 if past is None else past
        vectors = functional.embedding(ids, self.table)
        if self.scale != 1.0:
            vectors = vectors * self.scale
        if self.zero_start:
            vectors = vectors.masked_fill((ids == BOS).unsqueeze(-1), 0.0)
        if self.position is not None:
            places = self._places(ids, start).to(vectors.dtype)
            if self.merge == "add":
                vectors = vectors + places
            else:
                vectors = torch.cat([vectors, places.expand_as(vectors)], dim=-1)
        count = (ids != PAD).sum(dim=-1, keepdim=True) if self.skip_padding else ids.shape[-1]
        return self.dropout(vectors), start + count

    def _places(self, ids: Tensor, start: Any) -> Tensor:
        """ids (batch, n) after `start` others → position vectors, (n, dim) or (batch, n, dim)."""
        assert self.position is not None
        if not self.skip_padding:
            return self.position(start, ids.shape[-1])
        return self.position.at(((ids != PAD).cumsum(dim=-1) - 1 + start).clamp(min=0))

    def word_sum(self, past: Any, steps: int) -> WordSum | None:
        """Return the table and the positions, unless they are concatenated or a hook needs the module."""
        watched = any(one._forward_hooks or one._forward_pre_hooks or one.training for one in self.modules())
        if watched or self.skip_padding or self.merge != "add" or not may_compile([self.table]):
            return None
        places = None if self.position is None else self.position(past or 0, steps)
        if places is not None and places.dtype != torch.float32:
            return None
        return WordSum(self.table, self.scale, places, self.zero_start)

    def output_weight(self) -> nn.Parameter:
        """The table itself (vocab_size, dim): tied embeddings (https://arxiv.org/abs/1608.05859)."""
        return self.table
