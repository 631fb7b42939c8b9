"""The last state, such as the final one of a recurrent network (https://arxiv.org/abs/1409.3215)."""

import torch
from torch import Tensor

from regard.layers.pooling.pooling import Pooling


class LastPooling(Pooling):
    """states_T, T the last unpadded place.

    Cost: O(m)
    """

    aliases = "last_state, final, 最后"

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.out_dim = dim

    def forward(self, states: Tensor, mask: Tensor | None = None, query: Tensor | None = None) -> Tensor:
        """states (batch, n, dim) → (batch, dim)."""
        batch, length, dim = states.shape
        if not length:
            return states.new_zeros(batch, dim)
        if mask is None:
            return states[:, -1]
        found = states.gather(1, self.place(mask).view(batch, 1, 1).expand(batch, 1, dim)).squeeze(1)
        return found.masked_fill(~mask.any(dim=1, keepdim=True), 0.0)

    def place(self, mask: Tensor) -> Tensor:
        places = torch.arange(mask.shape[1], device=mask.device)
        return (places * mask).amax(dim=1)
