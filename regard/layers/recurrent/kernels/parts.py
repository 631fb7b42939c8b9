"""Inputs and results of the recurrence's implementations."""

from typing import NamedTuple

from torch import Tensor


class Parts(NamedTuple):
    """c_t = f · c_(t-1) + (1 - f) · u, h_t = r · g(c_t) + (1 - r) · scale · x; f and r may see c_(t-1), too."""

    products: Tensor  # (batch, n, 3 or 4, dim): u, W_f x, W_r x and, where the input has another width, W_s x
    inputs: Tensor  # (batch, n, dim): x; of any width, and unused, with 4 products
    peepholes: Tensor | None  # (2, dim): v_f and v_r; None: the gates do not see the state
    biases: Tensor  # (2, dim): b_f and b_r
    start: Tensor  # (batch, dim): c_0
    mask: Tensor | None  # (batch, n); a hidden step keeps c, and its h is 0
    scale: float
    tanh: bool  # g; else it is the identity

    def skipped(self) -> Tensor:
        """(batch, n, dim): x, or W_s x."""
        return self.inputs if self.products.shape[2] == 3 else self.products[:, :, 3]


class Ended(NamedTuple):
    """Results of the recurrence."""

    outputs: Tensor  # (batch, n, dim): h
    state: Tensor  # (batch, dim): the last c
