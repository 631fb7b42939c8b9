"""Regression of one row of numbers on a sequence of rows, with feed-forward attention (https://arxiv.org/abs/1512.08756)."""

from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention import name_columns
from regard.config import Doc
from regard.config.bounds import Size
from regard.config.common_settings import DropoutProbability, HiddenDim
from regard.data.columns import Columns
from regard.encoders import EncoderChoice
from regard.encoders.encoder import Encoder
from regard.errors import PartError
from regard.layers.pooling import POOLINGS, Pooling
from regard.models.build import build_encoder
from regard.models.classifier import PoolingChoice
from regard.models.number_model import GIVEN, WANTED, NumberModel, NumberRows, number_columns, refuse_smoothing
from regard.models.settings import PROJECTED_HEADS, AttentionChoice
from regard.ops.dropout import Dropout
from regard.records import Batch, Sequences
from regard.registry import Choice

SLOPE = 0.01  # of a leaky ReLU below zero


class SequenceRegressor(NumberModel):
    """y = W' leaky(V pooling(h) + b') + b'', h_t = leaky(W x_t + b); an encoder may stand between h and the pooling.

    Without an encoder states do not depend on their place, so the order of the rows has no effect. Layers that end in
    leaky ReLU are initialised as in https://arxiv.org/abs/1502.01852.
    """

    def __init__(
        self,
        width: int,
        dim: int,
        encoder: Encoder | None,
        pooling: Pooling,
        hidden_dim: int,
        out_width: int,
        *,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.enter, self.encoder, self.pooling = nn.Linear(width, dim), encoder, pooling
        self.hidden, self.leave = nn.Linear(pooling.out_dim, hidden_dim), nn.Linear(hidden_dim, out_width)
        self.dropout = Dropout(dropout)
        for layer in (self.enter, self.hidden):
            nn.init.kaiming_normal_(layer.weight, a=SLOPE)
            nn.init.zeros_(layer.bias)
        name_columns(self, GIVEN)

    def forward(self, given: Sequences) -> Tensor:
        """Map numbers (batch, n, width) → (batch, out_width)."""
        states, mask = functional.leaky_relu(self.enter(given.items.to(self.enter.weight)), SLOPE), given.mask
        if self.encoder is not None:
            states, mask, *_ = self.encoder(Sequences(states, mask))
        pooled = self.dropout(self.pooling(states, mask))
        answer: Tensor = self.leave(self.dropout(functional.leaky_relu(self.hidden(pooled), SLOPE)))
        return answer

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        """Return squared errors (batch, row), summed over the numbers of a row; the reference is one row."""
        refuse_smoothing(smoothing)
        wanted, mask = batch.sequences(WANTED)
        errors = (self(batch.sequences(GIVEN)).unsqueeze(1) - wanted).square().sum(dim=-1)
        return errors.masked_fill(~mask, 0.0)

    def answer(self, batch: Batch) -> NumberRows:
        numbers = self(batch.sequences(GIVEN)).unsqueeze(1)
        mask = torch.ones_like(numbers[..., 0], dtype=torch.bool)
        return NumberRows(Sequences(numbers, mask), numbers.new_zeros(len(numbers)))


def sequence_regressor(
    columns: Columns,
    *,
    dim: Annotated[Size, Doc("Width of a row's state.")] = 100,
    encoder: Annotated[
        EncoderChoice | None, Doc("Encoder over the rows' states; null: none, each row stands alone.")
    ] = None,
    self_attention: Annotated[
        AttentionChoice, Doc("Self-attention among rows, in the encoders that use it.")
    ] = PROJECTED_HEADS,
    pooling: Annotated[PoolingChoice, Doc("Pooling of the states into one vector.")] = Choice("feedforward"),
    hidden_dim: HiddenDim = 100,
    dropout: DropoutProbability = 0.0,
) -> SequenceRegressor:
    """One row of numbers for a sequence of rows, by least squares: a layer per row, a pooling, an output layer."""
    given, wanted = number_columns(columns)
    if wanted.rows > 1:
        problem = f"answers one row of numbers, but '{WANTED}' has up to {wanted.rows}"
        raise PartError(problem, "model=neural_turing_machine writes several of bits, as many as are given")
    encodes = None if encoder is None else build_encoder(encoder, dim, self_attention, dropout)
    pools = POOLINGS.build(pooling, dim if encodes is None else encodes.dim)
    return SequenceRegressor(given.width, dim, encodes, pools, hidden_dim, wanted.width, dropout=dropout)
