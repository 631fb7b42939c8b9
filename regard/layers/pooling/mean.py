"""The mean of the states: equal weights (fastText, https://arxiv.org/abs/1607.01759)."""

from torch import Tensor

from regard.layers.pooling.pooling import Pooling


class MeanPooling(Pooling):
    """sum_t states_t / T over the T unpadded places.

    Cost: O(m·d)
    """

    aliases = "mean_pooling, average, average_pooling, uniform, 平均, 平均池化"

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.out_dim = dim

    def forward(self, states: Tensor, mask: Tensor | None = None, query: Tensor | None = None) -> Tensor:
        """states (batch, n, dim) → (batch, dim)."""
        if mask is None:
            return states.sum(dim=1) / max(states.shape[1], 1)
        shown = mask.unsqueeze(-1)
        return states.masked_fill(~shown, 0.0).sum(dim=1) / shown.sum(dim=1).clamp(min=1)
