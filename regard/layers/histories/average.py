"""The average attention network (https://arxiv.org/abs/1805.00631, section 3): every word costs the same to write."""

from typing import Annotated

import torch
from torch import Tensor, nn

from regard.config import Doc
from regard.layers.feedforwards.position_wise import PositionWise
from regard.layers.layer import Layer
from regard.ops.functional import wide
from regard.ops.linear import Linear

_Counted = tuple[Tensor, Tensor]  # (batch, dim): the sum of what was read; (batch, 1): how many words, whole numbers


class AverageAttention(Layer):
    """i · y_t + f · g, g = FFN(1/t · sum_(k ≤ t) y_k), i, f = sigmoid(W [y_t; g] + b): all words weigh the same.

    `feedforward` and `gate` may be left out, each: then g is the mean itself, or what comes out. Sums are kept in
    single precision at least: in half, no word beyond a few hundred would change them.
    """

    aliases = "aan, average_attention_network"

    def __init__(
        self,
        dim: int,
        hidden_dim: int,
        *,
        feedforward: Annotated[bool, Doc("Apply a feed-forward network after the average.")] = True,
        gate: Annotated[bool, Doc("Gate the word and the average.")] = True,
    ) -> None:
        super().__init__()
        self.dim = dim
        self.feedforward = PositionWise(dim, hidden_dim) if feedforward else None
        self.gate = Linear(2 * dim, 2 * dim) if gate else None
        if self.gate is not None:
            nn.init.xavier_uniform_(self.gate.weight)
            nn.init.zeros_(self.gate.bias)

    def forward(self, inputs: Tensor, mask: Tensor | None, past: _Counted | None = None) -> tuple[Tensor, _Counted]:
        """y (batch, n, dim) → (batch, n, dim), sum and count so far."""
        exact = wide(inputs.dtype)
        shown = (inputs.new_ones(inputs.shape[:2]).bool() if mask is None else mask).unsqueeze(-1)
        nothing = inputs.new_zeros(len(inputs), self.dim, dtype=exact)
        before, count = past or (nothing, shown.new_zeros(len(inputs), 1).long())
        totals = before.unsqueeze(1) + inputs.masked_fill(~shown, 0.0).cumsum(dim=1, dtype=exact)
        counts = count.unsqueeze(1) + shown.cumsum(dim=1)
        read = (totals / counts.clamp(min=1)).to(inputs.dtype)
        if self.feedforward is not None:
            read, _ = self.feedforward(read)
        if self.gate is not None:
            keep, forget = torch.sigmoid(self.gate(torch.cat([inputs, read], dim=-1))).chunk(2, dim=-1)
            read = keep * inputs + forget * read
        return read, (totals[:, -1], counts[:, -1]) if inputs.shape[1] else (before, count)
