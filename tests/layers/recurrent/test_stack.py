"""Stacks of recurrent layers: what is dropped on the way up, and what goes around a layer."""

import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention import Sockets
from regard.encoders.recurrent import RecurrentEncoder
from regard.layers.recurrent import Past, Recurrent, Stack
from regard.records import Sequences

BATCH, LENGTH, DIM = 8, 20, 16


class Silent(Recurrent):
    """Writes zeros, and hears what it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.dim, self.heard = DIM, torch.zeros(0)

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Past | None = None) -> tuple[Tensor, Past]:
        self.heard = inputs
        return torch.zeros_like(inputs), self.nothing(inputs)

    def nothing(self, inputs: Tensor) -> Past:
        return (inputs.new_zeros(len(inputs), DIM),)


class Passing(Silent):
    """Writes what it reads."""

    def forward(self, inputs: Tensor, mask: Tensor | None, past: Past | None = None) -> tuple[Tensor, Past]:
        return inputs, self.nothing(inputs)


def test_what_goes_around_silent_layers_is_whole_however_much_they_are_dropped():
    """Only what a layer reads is dropped, not what is added to its output."""
    inputs = torch.randn(BATCH, LENGTH, DIM, dtype=torch.float64)
    layers = [Passing(), *(Silent() for _ in range(7))]
    outputs, _ = Stack(layers, dropout=0.5, residual_from=2).train()(inputs, None)
    assert torch.equal(outputs, inputs)
    for layer in layers[1:]:
        share = float((layer.heard == 0).double().mean())
        assert abs(share - 0.5) < 0.05  # 2,560 draws: five deviations
        assert_close(layer.heard[layer.heard != 0], 2 * inputs[layer.heard != 0])


def test_the_encoders_way_around_is_whole_too():
    """What is dropped of it at the end is dropped once, not once for each layer."""
    encoder = RecurrentEncoder(DIM, Sockets(None, None, None), hidden_dim=DIM, num_layers=8, bidirectional=False,
                               residual_from=2, dropout=0.5)  # fmt: skip
    encoder.layers[0] = Passing()
    for number in range(1, 8):
        encoder.layers[number] = Silent()
    inputs, mask = torch.randn(BATCH, LENGTH, DIM, dtype=torch.float64), torch.ones(BATCH, LENGTH, dtype=torch.bool)
    states = encoder.train()(Sequences(inputs, mask)).states
    assert abs(float((states == 0).double().mean()) - 0.5) < 0.05
    assert_close(states[states != 0], 2 * inputs[states != 0])
