"""The contract of comparisons, and shared code."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.ops.dropout import Dropout
from regard.ops.linear import Linear
from regard.records import Sequences


class Comparison(nn.Module, ABC):
    """One vector (out_dim,) for two texts. Built with (dim,), the width of the states of both.

    Its attention has the roles OWN of the first text, READ of the second, EACH where both are read at once. Values
    under padding have no effect.
    """

    out_dim: int
    symmetric = False  # True: the order of the texts has no effect
    beyond = 0  # columns after those of the words that its maps may have; plots omit them

    @abstractmethod
    def forward(self, first: Sequences, second: Sequences) -> Tensor:
        """States (batch, n, dim) and (batch, m, dim) → (batch, out_dim)."""


def stacked(first: Sequences, second: Sequences) -> Sequences:
    """Return both texts, ids or vectors, as one batch: the rows of the second after those of the first."""
    length = max(first.mask.shape[1], second.mask.shape[1])
    return Sequences(
        torch.cat([_lengthened(first.items, length), _lengthened(second.items, length)]),
        torch.cat([_lengthened(first.mask, length), _lengthened(second.mask, length)]),
    )


def unstacked(both: Sequences) -> tuple[Sequences, Sequences]:
    """Return the two texts of a stack."""
    half = len(both.mask) // 2
    return Sequences(both.items[:half], both.mask[:half]), Sequences(both.items[half:], both.mask[half:])


def rectified(input_dim: int, hidden_dim: int, dropout: float, *, num_layers: int = 2) -> nn.Sequential:
    """Return a feed-forward network: dropout, W x + b and max(0, x) per layer."""
    layers: list[nn.Module] = []
    for number in range(num_layers):
        layers += [Dropout(dropout), Linear(hidden_dim if number else input_dim, hidden_dim), nn.ReLU()]
    return nn.Sequential(*layers)


def _lengthened(rows: Tensor, length: int) -> Tensor:
    """Pad (batch, n, …) → (batch, length, …) with zeros on the right."""
    return functional.pad(rows, (0, 0) * (rows.dim() - 2) + (0, length - rows.shape[1]))
