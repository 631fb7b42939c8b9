"""The simple recurrent network (https://doi.org/10.1207/s15516709cog1402_1)."""

from typing import Annotated, Literal

from torch import Tensor, nn

from regard.config import Doc
from regard.layers.recurrent.recurrent import Past, Recurrent, initialise, run


class RnnLayer(Recurrent):
    """h_t = tanh(W x_t + U h_(t-1) + b), or with max(0, ·)."""

    aliases = "elman, jordan, vanilla_rnn, simple_rnn, simple, vanilla"

    def __init__(
        self,
        input_dim: int,
        dim: int,
        *,
        nonlinearity: Annotated[Literal["tanh", "relu"], Doc("Activation of a step.")] = "tanh",
    ) -> None:
        super().__init__()
        self.dim = dim
        self.network = nn.RNN(input_dim, dim, nonlinearity=nonlinearity, batch_first=True)
        initialise(self.network)

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Past | None = None) -> tuple[Tensor, Past]:
        """inputs (batch, n, input_dim) → outputs (batch, n, dim), (h,)."""
        return run(self.network, inputs, mask, self.nothing(inputs) if past is None else past)

    def nothing(self, inputs: Tensor) -> Past:
        return (inputs.new_zeros(inputs.shape[0], self.dim),)
