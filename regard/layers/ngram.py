"""The n-gram recurrent network of https://arxiv.org/abs/1702.04521, section 2.4."""

from typing import Annotated

import torch
from annotated_types import Ge
from torch import Tensor, nn

from regard.errors import PartError
from regard.layers.layer import Layer
from regard.ops.functional import latest


class NgramLayer(Layer):
    """tanh(W [h_t^1; h_(t-1)^2; …; h_(t-N+2)^(N-1)]), h split in N - 1 equal parts: part n predicts n words ahead.

    States before the first one are zero. `dim` is that of a part.
    """

    def __init__(self, input_dim: int, *, order: Annotated[int, Ge(2)] = 4) -> None:
        super().__init__()
        if input_dim % (order - 1):
            problem = f"{order}-grams split states in {order - 1} equal parts, but their dim is {input_dim}"
            raise PartError(problem, f"choose a dim that is a multiple of {order - 1}", setting="order")
        self.parts = order - 1
        self.dim = input_dim // self.parts
        self.from_parts = nn.Linear(input_dim, self.dim, bias=False)

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """states (batch, n, input_dim), mask (batch, n) → outputs (batch, n, dim), the last `order` - 2 states."""
        length, back = inputs.shape[1], self.parts - 1
        before = inputs.new_zeros(len(inputs), back, inputs.shape[-1]) if past is None else past
        seen = torch.cat([before, inputs], dim=1)
        shifted = [
            part[:, back - number : back - number + length] for number, part in enumerate(seen.split(self.dim, dim=-1))
        ]
        return torch.tanh(self.from_parts(torch.cat(shifted, dim=-1))), latest(seen, mask, back)
