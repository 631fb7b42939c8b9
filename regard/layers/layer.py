"""The contract of every layer of a sequence network."""

from abc import ABC, abstractmethod
from typing import Any

from torch import Tensor, nn

from regard.ops.kernels.transformer import StandardRecurrence


class Layer(nn.Module, ABC):
    """A map of sequences that can be run in pieces: any split into chunks equals the whole pass.

    `dim` is the width of its outputs.
    """

    dim: int

    @abstractmethod
    def forward(self, inputs: Tensor, mask: Tensor | None, past: Any = None) -> tuple[Tensor, Any]:
        """inputs (batch, n, input_dim), mask (batch, n) or None → outputs (batch, n, dim), past.

        Past None starts; else it continues. A past is tensors (batch first), counters and None in nested tuples.
        """

    def recurrence(self) -> StandardRecurrence | None:
        """Return the layers of an SSRU, which compiled code steps through; None for other layers."""
        return None
