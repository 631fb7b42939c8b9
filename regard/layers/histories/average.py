"""The average attention network (https://arxiv.org/abs/1805.00631, section 3): every word costs the same to write."""

from collections.abc import Mapping
from typing import Annotated, Literal

import torch
from torch import Tensor, nn

from regard.config import Doc
from regard.config.bounds import Size
from regard.layers.feedforwards.gelu import GeluFeedForward
from regard.layers.feedforwards.position_wise import PositionWise, TwoLayers
from regard.layers.feedforwards.swish import SwishFeedForward
from regard.layers.layer import Layer
from regard.ops.functional import wide
from regard.ops.linear import Linear

_Counted = tuple[Tensor, Tensor]  # (batch, dim): the sum of what was read; (batch, 1): how many words, whole numbers


_ACTIVATED: Mapping[str, type[TwoLayers]] = {"relu": PositionWise, "gelu": GeluFeedForward, "swish": SwishFeedForward}


class _OwnGates(nn.Module):
    """[y; g] → [y W + b; g W' + b']: each half of what a gate is computed from sees itself alone."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.word, self.average = Linear(dim, dim), Linear(dim, dim)

    def forward(self, joined: Tensor) -> Tensor:
        """(batch, n, 2 · dim) → the same shape."""
        word, average = joined.chunk(2, dim=-1)
        return torch.cat([self.word(word), self.average(average)], dim=-1)


class AverageAttention(Layer):
    """i · y_t + f · g, g = FFN(1/t · sum_(k ≤ t) y_k), i, f = sigmoid(W [y_t; g] + b): uniform attention weights.

    `feedforward` and `gate` may be left out, each: then g is the mean itself, or what comes out. gates "own", as Marian
    has them: i = sigmoid(W y_t + b), f = sigmoid(W' g + b'). Sums are kept in single precision at least: in half, no
    word beyond a few hundred would change them.
    """

    aliases = "aan, average_attention_network"

    def __init__(
        self,
        dim: int,
        hidden_dim: int,
        *,
        feedforward: Annotated[bool, Doc("Apply a feed-forward network after the average.")] = True,
        gate: Annotated[bool, Doc("Gate the word and the average.")] = True,
        gates: Annotated[
            Literal["joint", "own"], Doc("Compute each gate from word and average, or from its own input alone.")
        ] = "joint",
        activation: Annotated[
            Literal["relu", "gelu", "swish"], Doc("Activation of the feed-forward network.")
        ] = "relu",
        feedforward_dim: Annotated[
            Size | None, Doc("Hidden width of the feed-forward network; null: that of the decoder's.")
        ] = None,
    ) -> None:
        super().__init__()
        self.dim = dim
        self.feedforward = _ACTIVATED[activation](dim, feedforward_dim or hidden_dim) if feedforward else None
        self.gate = (Linear(2 * dim, 2 * dim) if gates == "joint" else _OwnGates(dim)) if gate else None
        for linear in () if self.gate is None else self.gate.modules():
            if isinstance(linear, nn.Linear):
                nn.init.xavier_uniform_(linear.weight)
                nn.init.zeros_(linear.bias)

    def forward(self, inputs: Tensor, mask: Tensor | None, past: _Counted | None = None) -> tuple[Tensor, _Counted]:
        """y (batch, n, dim) → (batch, n, dim), sum and count so far."""
        exact = wide(inputs.dtype)
        shown = (inputs.new_ones(inputs.shape[:2]).bool() if mask is None else mask).unsqueeze(-1)
        nothing = inputs.new_zeros(inputs.shape[0], self.dim, dtype=exact)
        before, count = past or (nothing, shown.new_zeros(inputs.shape[0], 1).long())
        totals = before.unsqueeze(1) + inputs.masked_fill(~shown, 0.0).cumsum(dim=1, dtype=exact)
        counts = count.unsqueeze(1) + shown.cumsum(dim=1)
        read = (totals / counts.clamp(min=1)).to(inputs.dtype)
        if self.feedforward is not None:
            read, _ = self.feedforward(read)
        if self.gate is not None:
            keep, forget = torch.sigmoid(self.gate(torch.cat([inputs, read], dim=-1))).chunk(2, dim=-1)
            read = keep * inputs + forget * read
        return read, (totals[:, -1], counts[:, -1]) if inputs.shape[1] else (before, count)
