"""The embedder of BERT (https://arxiv.org/abs/1810.04805, figure 2): words, places and texts, normalised."""

import math
from typing import Annotated, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.config import Doc
from regard.config.bounds import NotNegative, Size
from regard.config.common_settings import DropoutProbability
from regard.layers.embedders.embedder import Embedder
from regard.layers.normalisation.norm import Eps
from regard.layers.positions.position import Position
from regard.ops.dropout import Dropout
from regard.records import EOS


class SegmentsPast(NamedTuple):
    """Counts of places and end symbols so far."""

    places: int
    ends: Tensor  # (batch, 1): end symbols


class SegmentEmbedder(Embedder):
    """LN(E[id] + PE(place) + S[text]), then dropout; `text` counts the end symbols before a piece.

    So the first text of a pair, its end included, has S[0], and the second text and all after it have S[1]. With one
    segment the same vector is added everywhere, as in RoBERTa.
    """

    aliases = "segment_embeddings, bert_embeddings, token_type_embeddings"

    def __init__(
        self,
        vocab_size: int,
        dim: int,
        position: Position | None = None,
        *,
        num_segments: Annotated[Size, Doc("Number of segments.")] = 2,
        scale: Annotated[bool, Doc("Multiply the embeddings by sqrt(dim).")] = False,
        std: Annotated[NotNegative, Doc("Standard deviation of the initial values.")] = 0.02,
        eps: Annotated[Eps, Doc("Epsilon, for numerical stability.")] = 1e-12,
        dropout: DropoutProbability = 0.1,
    ) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(vocab_size, dim))
        self.segments = nn.Parameter(torch.empty(num_segments, dim))
        nn.init.normal_(self.table, std=std)
        nn.init.normal_(self.segments, std=std)
        self.position, self.norm = position, nn.LayerNorm(dim, eps=eps)
        self.max_length = None if position is None else position.max_length
        self.scale = math.sqrt(dim) if scale else 1.0
        self.dropout, self.dim = Dropout(dropout), dim

    def forward(self, ids: Tensor, past: SegmentsPast | None = None) -> tuple[Tensor, SegmentsPast]:
        """ids (batch, n) → vectors (batch, n, dim), and what was read so far."""
        start, before = past or SegmentsPast(0, ids.new_zeros(len(ids), 1))
        ended = (ids == EOS).long()
        ends = before + ended.cumsum(dim=1)
        segments = (ends - ended).clamp(max=len(self.segments) - 1)
        vectors = functional.embedding(ids, self.table) * self.scale + functional.embedding(segments, self.segments)
        if self.position is not None:
            vectors = vectors + self.position(start, ids.shape[-1]).to(vectors.dtype)
        after = SegmentsPast(start + ids.shape[-1], torch.cat([before, ends], dim=1)[:, -1:])
        return self.dropout(self.norm(vectors)), after

    def output_weight(self) -> nn.Parameter:
        return self.table
