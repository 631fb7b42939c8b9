"""Simple recurrent units (https://arxiv.org/abs/1709.02755): one matrix product for all steps."""

import math
from typing import Annotated, Literal

import torch
from annotated_types import Ge, Le
from torch import Tensor, nn

from regard.config import Doc
from regard.layers.recurrent.kernels import Parts
from regard.layers.recurrent.kernels.choose import recurrence
from regard.layers.recurrent.recurrent import Past, Recurrent, last
from regard.ops.linear import linear

Version = Annotated[
    Literal[1, 2],
    Doc("Version of the paper's equations: 1 is parallel over steps; 2 has gates that read the last state."),
]
HighwayBias = Annotated[  # beyond these bounds a gate is shut or open for good
    float,
    Ge(-30),
    Le(30),
    Doc("Initial bias of the highway gate: 0 for classification, -3 for translation."),
]


class SruLayer(Recurrent):
    """c_t = f · c_(t-1) + (1 - f) · W x; h_t = r · g(c_t) + (1 - r) · a · x; f, r = sigmoid(W' x + v · c_(t-1) + b).

    version 1, as in the paper's first versions: v = 0 and a = 1, so all steps can be computed in parallel. version 2: v
    is learned, and a = sqrt(1 + 2 exp(highway_bias)) keeps the variance. x is projected where it has another width.
    `highway_bias` is the initial b of r: 0 for classification, -3 for translation.
    """

    aliases = "simple_recurrent_unit"

    def __init__(
        self,
        input_dim: int,
        dim: int,
        *,
        version: Version = 2,
        activation: Annotated[Literal["identity", "tanh"], Doc("Activation of the state.")] = "identity",
        highway_bias: HighwayBias = 0.0,
    ) -> None:
        super().__init__()
        self.dim, self.tanh = dim, activation == "tanh"
        self.scale = math.sqrt(1 + 2 * math.exp(highway_bias)) if version == 2 else 1.0
        self.weight = nn.Parameter(torch.empty((3 if input_dim == dim else 4) * dim, input_dim))
        self.biases = nn.Parameter(torch.tensor([0.0, highway_bias]).unsqueeze(-1).repeat(1, dim))
        self.peepholes = nn.Parameter(torch.empty(2, dim)) if version == 2 else None
        for parameter, width in ((self.weight, input_dim), (self.peepholes, dim)):
            if parameter is not None:
                nn.init.uniform_(parameter, -math.sqrt(3 / width), math.sqrt(3 / width))

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Past | None = None) -> tuple[Tensor, Past]:
        """inputs (batch, n, input_dim) → outputs (batch, n, dim), (h, c)."""
        shown, state = self.nothing(inputs) if past is None else past
        products = linear(inputs, self.weight).unflatten(-1, (-1, self.dim))
        parts = Parts(products, inputs, self.peepholes, self.biases, state, mask, self.scale, self.tanh)
        outputs, state = recurrence(parts)
        return outputs, (last(outputs, mask, shown), state)

    def nothing(self, inputs: Tensor) -> Past:
        return inputs.new_zeros(inputs.shape[0], self.dim), inputs.new_zeros(inputs.shape[0], self.dim)

    def begun(self, state: Tensor) -> Past:
        """Return a past with c = state; h is not read again."""
        return state, state
