"""Gates and blocks against torch's own, their equations, and what they must keep."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close

from regard.errors import ConfigError
from regard.layers.convolutional.convolution import Convolution
from regard.layers.convolutional.gated_block import GatedBlock, glu, gtu, projection
from regard.layers.convolutional.residual_block import Chain, MultiplicativeUnit, ResidualBlock

LENGTH, DIM = 6, 4


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def test_gates(assert_agrees):
    pair = random(3, 8)
    first, second = pair[:, :4], pair[:, 4:]
    assert_agrees("B17", glu(pair), functional.glu(pair))
    assert_agrees("B17", gtu(pair), first.tanh() * (1 / (1 + (-second).exp())))


@pytest.mark.parametrize("gate", [glu, gtu])
def test_an_odd_number_of_channels_is_told(gate):
    with pytest.raises(ConfigError, match="5 channels"):
        gate(torch.zeros(2, 5))


def test_a_saturated_gate_is_no_fault():
    pair = torch.tensor([[1.0, 1.0, 1e4, -1e4]], requires_grad=True)
    outputs = glu(pair)
    outputs.sum().backward()
    assert outputs.tolist() == [[1.0, 0.0]]
    assert bool(pair.grad.isfinite().all())


@pytest.mark.parametrize(("gate", "kept"), [("glu", functional.glu), ("relu", functional.relu), ("tanh", torch.tanh)])
def test_a_gated_block_is_the_mean_of_both_ways(gate, kept, assert_agrees):
    block = GatedBlock(DIM, DIM, gate=gate, dropout=0.0).double()
    inputs = random(2, LENGTH, DIM)
    convolved, _ = block.convolution(inputs, None)
    assert_agrees("C10", block(inputs, None)[0], (inputs + kept(convolved)) * math.sqrt(0.5))


def test_where_the_width_changes_the_way_around_is_projected():
    block = GatedBlock(DIM, 7).double().eval()
    assert block(random(2, LENGTH, DIM), None)[0].shape == (2, LENGTH, 7)


def linear(layer: nn.Module, x: Tensor) -> Tensor:
    return layer.weight @ x + layer.bias


def norm(layer: nn.Module, x: Tensor) -> Tensor:
    centred = x - x.mean()
    return centred / (centred.square().mean() + 1e-5).sqrt() * layer.norm.weight + layer.norm.bias


def taps(convolution: Convolution, h: list[Tensor], place: int) -> Tensor:
    """One output, written from the equation."""
    total = convolution.linear.bias
    weights = convolution.linear.weight.chunk(convolution.kernel, dim=1)
    for tap, weight in enumerate(weights):
        at = place - (convolution.kernel - 1 - tap) * convolution.dilation
        if at >= 0:
            total = total + weight @ h[at]
    return total


def unit(layer: MultiplicativeUnit, h: list[Tensor], place: int) -> Tensor:
    g1, g2, g3, u = taps(layer.convolution, h, place).chunk(4)
    return g1.sigmoid() * (g2.sigmoid() * h[place] + g3.sigmoid() * u.tanh()).tanh()


def shaken(block: nn.Module) -> nn.Module:
    for parameter in block.double().parameters():
        nn.init.normal_(parameter)
    return block.requires_grad_(False)


@pytest.mark.parametrize("kind", ["relu", "multiplicative"])
def test_a_residual_block_equals_a_loop_of_its_equations(kind, assert_agrees):
    block = shaken(ResidualBlock(DIM, kind=kind, kernel=3, dilation=2))
    inputs = random(LENGTH, DIM)
    outputs, _ = block(inputs.unsqueeze(0), None)
    after = torch.relu if kind == "relu" else lambda states: states
    narrow = [linear(block.narrow, after(norm(block.norms[0], x))) for x in inputs]
    h = [after(norm(block.norms[1], x)) for x in narrow]
    for place in range(LENGTH):
        if kind == "relu":
            middle = torch.relu(norm(block.norms[2], taps(block.middle, h, place)))
        else:
            middle = unit(block.middle, h, place)
        assert_agrees("B14", outputs[0, place], inputs[place] + linear(block.widen, middle))


@pytest.mark.parametrize("kind", ["relu", "multiplicative"])
def test_a_residual_block_whose_last_convolution_is_zero_changes_nothing(kind, assert_agrees):
    block = ResidualBlock(DIM, kind=kind).double()
    nn.init.zeros_(block.widen.weight)
    nn.init.zeros_(block.widen.bias)
    inputs = random(2, LENGTH, DIM)
    assert_agrees("B14", block(inputs, None)[0], inputs, tolerance=0.0)


def test_the_weight_of_a_normalised_layer_starts_as_it_was_drawn(assert_agrees):
    layer = projection(50, 30).double()
    inputs = random(7, 50)
    assert_agrees("F04", layer(inputs), functional.linear(inputs, layer.weight, layer.bias))
    layer.weight.data *= 3  # only the direction counts
    assert_agrees("F04", layer(inputs), functional.linear(inputs, layer.weight / 3, layer.bias))


def test_few_and_many_inputs_of_a_normalised_layer_agree():
    """The smaller of weight and products is scaled."""
    layer = projection(5, 4).double()
    inputs = random(8, 5)
    assert_close(layer(inputs), torch.cat([layer(inputs[:4]), layer(inputs[4:])]))


@torch.no_grad()
def test_twenty_gated_blocks_keep_the_variance():
    """With dropout, of embeddings drawn from N(0, 0.1²) (https://arxiv.org/abs/1705.03122, section 3.5)."""
    blocks = [GatedBlock(128, 128, dropout=0.1) for _ in range(20)]
    states = torch.randn(8, 40, 128) * 0.1
    start = float(states.var())
    for block in blocks:
        states, _ = block(states, None)
        assert 0.5 <= float(states.var()) / start <= 2.0


@torch.no_grad()
def test_gated_units_whose_weights_are_not_four_times_as_varied_lose_three_quarters_each():
    states = torch.randn(8, 40, 256) * 0.1
    for _ in range(3):
        before = float(states.var())
        layer = Convolution(256, 512, kernel=3, std=(3 * 256) ** -0.5)
        states = glu(layer(states, None)[0])
        assert 3.5 < before / float(states.var()) < 4.5


def test_a_chain_of_nothing_changes_nothing():
    inputs = random(1, 2, DIM)
    outputs, past = Chain(DIM, [])(inputs, None)
    assert outputs is inputs and past == ()
