"""The contract of poolings: a sequence of states → one vector."""

from abc import ABC, abstractmethod

from torch import Tensor, nn


class Pooling(nn.Module, ABC):
    """One vector for a sequence. Built with (dim,), the width of the states; `out_dim` is that of the vector.

    Values under padding have no effect. A sequence of length 0 gives zeros and finite gradients.
    """

    out_dim: int

    @abstractmethod
    def forward(self, states: Tensor, mask: Tensor | None = None, query: Tensor | None = None) -> Tensor:
        """states (batch, n, dim), mask (batch, n), query (batch, dim) → (batch, out_dim).

        Poolings with a query of their own ignore `query`.
        """

    def place(self, mask: Tensor) -> Tensor | None:
        """Return the place (batch,) of the only state that is read, given a mask (batch, n); None for several."""
        return None
