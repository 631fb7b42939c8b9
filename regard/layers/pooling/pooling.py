"""The contract of poolings: a sequence of states becomes one vector."""

from abc import ABC, abstractmethod

from torch import Tensor, nn


class Pooling(nn.Module, ABC):
    """One vector for a sequence. Built with (dim,), the width of the states; `out_dim` is that of the vector.

    What stands under padding changes nothing. A sequence of length 0 gives zeros and finite gradients.
    """

    out_dim: int

    @abstractmethod
    def forward(self, states: Tensor, mask: Tensor | None = None, query: Tensor | None = None) -> Tensor:
        """states (batch, n, dim), mask (batch, n), query (batch, dim) → (batch, out_dim).

        The query is what is asked of the sequence; poolings that ask a question of their own pay it no heed.
        """

    def place(self, mask: Tensor) -> Tensor | None:
        """mask (batch, n) → the place (batch,) of the only state that is read; None where others are read, too."""
        return None
