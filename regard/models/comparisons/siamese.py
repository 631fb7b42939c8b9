"""Two texts, each as one vector (https://arxiv.org/abs/1705.02364, section 2.2)."""

from typing import Annotated

import torch
from torch import Tensor, nn

from regard.attention import EACH, name_columns
from regard.config import Doc, PartOf
from regard.config.bounds import Size
from regard.config.common_settings import DropoutProbability
from regard.layers.pooling import POOLINGS
from regard.models.comparisons.comparison import Comparison, rectified, stacked
from regard.records import Sequences
from regard.registry import Choice


class SiameseComparison(Comparison):
    """h = max(0, W [u; v; |u - v|; u · v] + b), u and v the pooled vectors of both texts.

    `symmetric` leaves u and v out, so that the order of the texts has no effect. Without `hidden_dim` h is the
    concatenation itself.
    """

    aliases = "infersent, siamese_network, bi_encoder, 孪生网络"

    def __init__(
        self,
        dim: int,
        *,
        pooling: Annotated[Choice, PartOf(POOLINGS), Doc("Pooling of the states into one vector.")] = Choice(
            "attention"
        ),
        symmetric: Annotated[bool, Doc("Symmetric comparison: the order of the texts has no effect.")] = False,
        hidden_dim: Annotated[Size | None, Doc("Width of a hidden layer on top of the comparison; null: none.")] = 256,
        dropout: DropoutProbability = 0.1,
    ) -> None:
        super().__init__()
        self.pooling, self.symmetric = POOLINGS.build(pooling, dim, place="pooling"), symmetric
        width = self.pooling.out_dim * (2 if symmetric else 4)
        self.network: nn.Module = nn.Identity()
        if hidden_dim is not None:
            self.network = rectified(width, hidden_dim, dropout, num_layers=1)
        self.out_dim = hidden_dim or width
        name_columns(self.pooling, EACH)

    def forward(self, first: Sequences, second: Sequences) -> Tensor:
        u, v = self.pooling(*stacked(first, second)).chunk(2)
        ordered = [] if self.symmetric else [u, v]
        features: Tensor = self.network(torch.cat([*ordered, (u - v).abs(), u * v], dim=-1))
        return features
