"""The largest value of each feature over time (https://arxiv.org/abs/1408.5882): hard attention for each feature."""

from torch import Tensor

from regard.layers.pooling.pooling import Pooling


class MaxPooling(Pooling):
    """max_t states_tf for each feature f, over the unpadded places.

    Cost: O(m·d)
    """

    aliases = "max_pooling, max_over_time, 最大, 最大池化"

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.out_dim = dim

    def forward(self, states: Tensor, mask: Tensor | None = None, query: Tensor | None = None) -> Tensor:
        """states (batch, n, dim) → (batch, dim)."""
        if not states.shape[1]:
            return states.new_zeros(len(states), self.out_dim)
        if mask is None:
            return states.amax(dim=1)
        largest = states.masked_fill(~mask.unsqueeze(-1), float("-inf")).amax(dim=1)
        return largest.masked_fill(~mask.any(dim=1, keepdim=True), 0.0)
