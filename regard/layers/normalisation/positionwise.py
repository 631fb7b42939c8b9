"""Layer normalisation (https://arxiv.org/abs/1607.06450)."""

from typing import Annotated

from torch import Tensor, nn

from regard.config import Doc
from regard.layers.normalisation.norm import Eps, Norm


class PositionNorm(Norm):
    """gain · (x - mean) / sqrt(var + eps) + bias, over the channels of each position separately."""

    aliases = "layer_norm, layer_normalisation, layer_normalization"

    def __init__(self, dim: int, *, eps: Annotated[Eps, Doc("Epsilon, for numerical stability.")] = 1e-5) -> None:
        super().__init__()
        self.dim, self.norm = dim, nn.LayerNorm(dim, eps=eps)

    def forward(self, inputs: Tensor, mask: Tensor | None, past: None = None) -> tuple[Tensor, None]:
        """(batch, n, dim) → (batch, n, dim); there is no past."""
        return self.norm(inputs), None
