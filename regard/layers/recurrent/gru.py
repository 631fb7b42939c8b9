"""Gated recurrent units (https://arxiv.org/abs/1406.1078, section 2.3)."""

from typing import Annotated

import torch
from torch import Tensor, nn

from regard.config import Doc
from regard.layers.recurrent.recurrent import Past, Recurrent, initialise, run


class GruLayer(Recurrent):
    """r, z = sigmoid(W x + U h + b); h_t = z · h + (1 - z) · h'.

    reset_after: h' = tanh(W x + b + r · (U h + c)), as in torch, and quick; else h' = tanh(W x + b + U (r · h) + c), as
    in the paper.
    """

    aliases = "gated_recurrent_unit, 门控循环单元"

    def __init__(
        self,
        input_dim: int,
        dim: int,
        *,
        reset_after: Annotated[
            bool, Doc("Apply the reset gate after the matrix product, as torch does; faster.")
        ] = True,
    ) -> None:
        super().__init__()
        self.dim, self.reset_after = dim, reset_after
        self.network = nn.GRU(input_dim, dim, batch_first=True)
        initialise(self.network)

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Past | None = None) -> tuple[Tensor, Past]:
        """inputs (batch, n, input_dim) → outputs (batch, n, dim), (h,)."""
        past = self.nothing(inputs) if past is None else past
        return run(self.network, inputs, mask, past) if self.reset_after else self._reset_before(inputs, mask, past[0])

    def nothing(self, inputs: Tensor) -> Past:
        return (inputs.new_zeros(inputs.shape[0], self.dim),)

    def _reset_before(self, inputs: Tensor, mask: Tensor | None, state: Tensor) -> tuple[Tensor, Past]:
        outputs = []
        weights = dict(self.network.named_parameters())
        from_input = nn.functional.linear(inputs, weights["weight_ih_l0"], weights["bias_ih_l0"])
        gates, new = weights["weight_hh_l0"].split([2 * self.dim, self.dim])
        gates_bias, new_bias = weights["bias_hh_l0"].split([2 * self.dim, self.dim])
        for place, step in enumerate(from_input.unbind(dim=1)):  # one gradient for all slices
            reset, keep, candidate = step.chunk(3, dim=-1)
            r, z = (torch.cat([reset, keep], dim=-1) + state @ gates.t() + gates_bias).sigmoid().chunk(2, dim=-1)
            candidate = torch.tanh(candidate + (r * state) @ new.t() + new_bias)
            updated = z * state + (1 - z) * candidate
            if mask is None:
                state, shown = updated, updated
            else:
                real = mask[:, place : place + 1]
                state, shown = torch.where(real, updated, state), updated.masked_fill(~real, 0.0)
            outputs.append(shown)
        return torch.stack(outputs, dim=1) if outputs else inputs.new_zeros(len(inputs), 0, self.dim), (state,)
