"""The contract of heads of readers: p(place of the answer | states of the passage, the question as one vector)."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from torch import Tensor, nn

from regard.attention import Attention

TINY = 1e-20  # below any probability in float32 that matters; keeps log 0 finite


class Places(NamedTuple):
    """Log-probabilities (batch, n) of each place to be the first, and the last, piece of the answer."""

    first: Tensor
    last: Tensor


class SpanHead(nn.Module, ABC):
    """Built with (dim, vector_dim), the widths of the states and of the question. Padding changes nothing."""

    max_pieces: int  # of the longest answer

    @abstractmethod
    def forward(self, states: Tensor, mask: Tensor, vector: Tensor) -> Places:
        """states (batch, n, dim), mask (batch, n), vector (batch, vector_dim) → log-probabilities of places."""


def log_weights(attention: Attention, states: Tensor, mask: Tensor, vector: Tensor) -> Tensor:
    """Return the log attention weights (batch, n) of a question over the states."""
    memory = attention.remember(states, mask=mask)
    weights = attention(vector.unsqueeze(1), memory, need_weights=True).weights
    return weights.flatten(1).clamp(min=TINY).log()
