"""The contract of absolute positions."""

from abc import ABC, abstractmethod

from torch import Tensor, nn


class Position(nn.Module, ABC):
    """A vector per place in a sequence. Built with (dim,). It knows `max_length` places; None: any number."""

    max_length: int | None = None

    @abstractmethod
    def forward(self, start: int, length: int) -> Tensor:
        """Places start … start + length - 1, counted from 0 → (length, dim). RegardError: beyond a table's end."""

    def at(self, places: Tensor) -> Tensor:
        """places (...), counted from 0 → (..., dim). RegardError: beyond a table's end."""
        vectors: Tensor = self(0, int(places.max()) + 1 if places.numel() else 0)
        return vectors[places]
