"""Simpler simple recurrent units (SSRU) of fast decoders (https://aclanthology.org/D19-5632, section 3.1)."""

import torch
from torch import Tensor, nn

from regard.layers.recurrent.kernels.choose import linear_recurrence
from regard.layers.recurrent.recurrent import Past, Recurrent, last
from regard.ops.kernels.transformer import StandardRecurrence
from regard.ops.linear import linear


class SsruLayer(Recurrent):
    """c_t = f · c_(t-1) + (1 - f) · W x; h_t = max(0, c_t); f = sigmoid(W' x + b): one gate, and no highway."""

    def __init__(self, input_dim: int, dim: int) -> None:
        super().__init__()
        self.dim = dim
        self.weight = nn.Parameter(torch.empty(2 * dim, input_dim))  # of c, of f
        self.bias = nn.Parameter(torch.zeros(dim))
        for one in self.weight.data.split(dim):
            nn.init.xavier_uniform_(one)

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Past | None = None) -> tuple[Tensor, Past]:
        """inputs (batch, n, input_dim) → outputs (batch, n, dim), (h, c)."""
        shown, state = self.nothing(inputs) if past is None else past
        new, forget = linear(inputs, self.weight).chunk(2, dim=-1)
        keeps = torch.sigmoid(forget + self.bias)
        adds = (1 - keeps) * new
        if mask is not None:
            real = mask.unsqueeze(-1)
            keeps, adds = keeps.masked_fill(~real, 1.0), adds.masked_fill(~real, 0.0)
        states = linear_recurrence(keeps, adds, state)
        outputs = torch.relu(states).to(new.dtype)
        if mask is not None:
            outputs = outputs.masked_fill(~mask.unsqueeze(-1), 0.0)
        return outputs, (last(outputs, mask, shown), states[:, -1] if states.shape[1] else state)

    def nothing(self, inputs: Tensor) -> Past:
        return inputs.new_zeros(inputs.shape[0], self.dim), inputs.new_zeros(inputs.shape[0], self.dim)

    def begun(self, state: Tensor) -> Past:
        """Return a past with c = state; h is not read again."""
        return state, state

    def recurrence(self) -> StandardRecurrence:
        return StandardRecurrence(self, None)
