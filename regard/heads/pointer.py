"""Writes a word of its vocabulary or copies one of the source (https://arxiv.org/abs/1704.04368, section 2.2)."""

import math
from typing import Annotated

import torch
from annotated_types import Gt, Lt
from torch import Tensor, nn

from regard.config import Doc
from regard.errors import ConfigError
from regard.heads.head import Head
from regard.heads.linear import LinearHead, OutputBias
from regard.records import PAD, Decoded, Encoded

_TINY = 1e-20  # below any probability in float32 that matters; keeps log 0 finite


class PointerHead(Head):
    """p(w) = g · softmax(states Wᵀ)_w + (1 - g) · sum of the weights on source words that are w; g = sigmoid(u · s).

    Source and target must be written in one vocabulary. `keep` is g at the start of training. What weights leave over
    that sum to less than 1, as those of an empty source or of local attention, goes to the vocabulary; those that sum
    to more, as of sigmoids, are divided by their sum. Weights must not be negative. `bias` adds a b to states Wᵀ.
    """

    aliases = "pointer_generator, copy, attention_sum, attention_sum_reader, 指针"
    needs_weights = True
    reads_source = True
    copies = True

    def __init__(
        self,
        dim: int,
        vocab_size: int,
        weight: nn.Parameter | None = None,
        *,
        keep: Annotated[
            float, Gt(0), Lt(1), Doc("Initial probability of generating from the vocabulary rather than copying.")
        ] = 0.9,
        bias: OutputBias = False,
    ) -> None:
        super().__init__()
        self.words = LinearHead(dim, vocab_size, weight, bias=bias)
        self.to_gate = nn.Linear(dim, 1)
        nn.init.zeros_(self.to_gate.weight)
        nn.init.constant_(self.to_gate.bias, math.log(keep / (1 - keep)))

    def log_probs(self, decoded: Decoded, encoded: Encoded | None) -> Tensor:
        if decoded.weights is None or encoded is None or encoded.ids is None:
            raise ConfigError("model.head", "'pointer' needs a decoder that attends to the source", "try 'linear'")
        written = self.words.log_probs(decoded, encoded).exp()
        gate, weights = torch.sigmoid(self.to_gate(decoded.states)), decoded.weights.to(written.dtype)
        total = weights.sum(dim=-1, keepdim=True)
        weights, over = weights / total.clamp(min=1.0), (1 - total).clamp(min=0.0)
        ids = encoded.ids.unsqueeze(-2).expand(weights.shape)
        mixed = ((gate + (1 - gate) * over) * written).scatter_add(-1, ids, (1 - gate) * weights)
        return mixed.clamp(min=_TINY).log()

    def nll(self, decoded: Decoded, encoded: Encoded | None, targets: Tensor, *, smoothing: float = 0.0) -> Tensor:
        log_probs = self.log_probs(decoded, encoded)
        gold = log_probs.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
        losses = -(1 - smoothing) * gold - smoothing * log_probs.mean(dim=-1)
        return losses.masked_fill(targets == PAD, 0.0)
