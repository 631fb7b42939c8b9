"""Convolutions over a grid against torch's own, and the square that each output sees by the support of its gradient."""

import pytest
import torch
from fields import receptive_field
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close

from regard.layers.convolutional.grid_convolution import GridConvolution

INPUT, DIM = 3, 4


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


@pytest.mark.parametrize("kernel", [1, 2, 3, 5])
@pytest.mark.parametrize("dilation", [1, 2, 4])
def test_it_equals_torchs(kernel, dilation, assert_agrees):
    layer, inputs = GridConvolution(INPUT, DIM, kernel=kernel, dilation=dilation).double(), random(2, 6, 7, INPUT)
    weight = layer.linear.weight.view(DIM, kernel, kernel, INPUT).permute(0, 3, 1, 2)
    after = layer.reach // 2
    before = layer.reach - after
    padded = functional.pad(inputs.permute(0, 3, 1, 2), (before, after, before, after))
    oracle = functional.conv2d(padded, weight, layer.linear.bias, dilation=dilation)
    assert_agrees("B13", layer(inputs), oracle.permute(0, 2, 3, 1), tolerance=1e-12)


def test_by_hand():
    """Each output is the number above to the left, 10 times; itself; and the one below to the right, 100 times."""
    layer = GridConvolution(1, 1).double()
    layer.linear.weight.data = torch.tensor([[10, 0, 0, 0, 1, 0, 0, 0, 100]]).double()
    layer.linear.bias.data.zero_()
    outputs = layer(torch.tensor([[[[1], [2]], [[3], [4]]]]).double())
    assert outputs.flatten().tolist() == [401, 2, 3, 14]


@pytest.mark.parametrize(
    ("kernel", "dilations", "side"), [(3, [1], 3), (3, [1, 2], 7), (3, [1, 2, 4], 15), (2, [1, 2, 4], 8), (5, [1], 5)]
)
def test_a_stack_sees_exactly_the_square_of_the_formula(kernel, dilations, side, assert_agrees):
    assert receptive_field(kernel, dilations) == side
    layers = [GridConvolution(1, 1, kernel=kernel, dilation=rate).double() for rate in dilations]
    for layer in layers:
        nn.init.uniform_(layer.linear.weight, 0.1, 1.0)  # nothing cancels out
    inputs, place = random(1, 2 * side, 2 * side, 1).requires_grad_(), side
    outputs = inputs
    for layer in layers:
        outputs = layer(outputs)
    (gradient,) = torch.autograd.grad(outputs[0, place, place].sum(), inputs)
    first = place - sum(layer.reach - layer.reach // 2 for layer in layers)
    wanted = torch.zeros(2 * side, 2 * side)
    wanted[first : first + side, first : first + side] = 1
    assert_agrees("B13", (gradient[0, ..., 0] != 0).float(), wanted, tolerance=0.0)


def test_what_is_hidden_counts_as_zero():
    layer, inputs = GridConvolution(INPUT, DIM, kernel=5).double(), random(2, 4, 5, INPUT)
    mask = torch.ones(2, 4, 5, dtype=torch.bool)
    mask[1, 2:] = mask[1, :, 3:] = False
    outputs = layer(inputs.masked_fill(~mask.unsqueeze(-1), torch.nan), mask)
    assert_close(outputs[1:, :2, :3], layer(inputs[1:, :2, :3]))
