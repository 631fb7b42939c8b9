"""The first state, as in BERT's classification (https://arxiv.org/abs/1810.04805, section 3)."""

from typing import Annotated

import torch
from torch import Tensor, nn

from regard.config import Doc
from regard.layers.pooling.pooling import Pooling


class FirstPooling(Pooling):
    """tanh(W states_1 + b): the state of the piece <s> that begins a text; without `dense` the state itself.

    Cost: O(d²)
    """

    aliases = "first_state, cls, pooler, bert_pooler"

    def __init__(
        self, dim: int, *, dense: Annotated[bool, Doc("Linear layer and tanh, as in BERT's pooler.")] = True
    ) -> None:
        super().__init__()
        self.out_dim = dim
        self.dense = nn.Linear(dim, dim) if dense else None
        if self.dense is not None:
            nn.init.xavier_uniform_(self.dense.weight)
            nn.init.zeros_(self.dense.bias)

    def forward(self, states: Tensor, mask: Tensor | None = None, query: Tensor | None = None) -> Tensor:
        """states (batch, n, dim) → (batch, dim)."""
        if not states.shape[1]:
            return states.new_zeros(len(states), self.out_dim)
        first = states[:, 0]
        pooled = first if self.dense is None else torch.tanh(self.dense(first))
        return pooled if mask is None else pooled.masked_fill(~mask[:, :1], 0.0)

    def place(self, mask: Tensor) -> Tensor:
        return torch.zeros(len(mask), dtype=torch.long, device=mask.device)
