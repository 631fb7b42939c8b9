"""Long short-term memory (https://doi.org/10.1162/neco.1997.9.8.1735) with forget gates."""

from typing import Annotated

from torch import Tensor, nn

from regard.config import Doc
from regard.config.bounds import AnyFloat
from regard.layers.recurrent.recurrent import Past, Recurrent, initialise, run


class LstmLayer(Recurrent):
    """i, f, o = sigmoid(W x + U h + b); g = tanh(…); c_t = f · c + i · g; h_t = o · tanh(c_t). The output is h.

    The forget gate's bias starts at `forget_bias` (https://proceedings.mlr.press/v37/jozefowicz15.html).
    """

    aliases = "long_short_term_memory, 长短期记忆, 长短期记忆网络"

    def __init__(
        self,
        input_dim: int,
        dim: int,
        *,
        forget_bias: Annotated[AnyFloat, Doc("Initial bias of the forget gate.")] = 1.0,
    ) -> None:
        super().__init__()
        self.dim = dim
        self.network = nn.LSTM(input_dim, dim, batch_first=True)
        initialise(self.network)
        bias = self.network.get_parameter("bias_ih_l0")
        nn.init.constant_(bias.data[dim : 2 * dim], forget_bias)  # torch's gates: i, f, g, o

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Past | None = None) -> tuple[Tensor, Past]:
        """inputs (batch, n, input_dim) → outputs (batch, n, dim), (h, c)."""
        return run(self.network, inputs, mask, self.nothing(inputs) if past is None else past)

    def nothing(self, inputs: Tensor) -> Past:
        return inputs.new_zeros(inputs.shape[0], self.dim), inputs.new_zeros(inputs.shape[0], self.dim)
