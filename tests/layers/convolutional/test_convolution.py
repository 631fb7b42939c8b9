"""Convolutions against torch's own, and what each output sees by the support of its gradient."""

import pytest
import torch
from fields import receptive_field
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close

from regard.layers.convolutional.convolution import Convolution
from regard.layers.convolutional.gated_block import GatedBlock
from regard.layers.convolutional.residual_block import Chain, ResidualBlock
from regard.layers.feedforwards.position_wise import PositionWise

BATCH, LENGTH, INPUT, DIM = 3, 9, 4, 5


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def as_torchs(weight: Tensor, kernel: int) -> Tensor:
    """(dim, kernel · input_dim), tap by tap → (dim, input_dim, kernel), as torch's convolutions have it."""
    return weight.unflatten(1, (kernel, -1)).transpose(1, 2)


@pytest.mark.parametrize("kernel", [1, 2, 3, 5])
@pytest.mark.parametrize("dilation", [1, 2, 4, 16])
@pytest.mark.parametrize("std", [None, 0.5])
def test_masked_and_centred_ones_equal_torchs(kernel, dilation, std, assert_agrees):
    inputs, reach = random(BATCH, LENGTH, INPUT), (kernel - 1) * dilation
    for causal in (True, False):
        layer = Convolution(INPUT, DIM, kernel=kernel, dilation=dilation, causal=causal, std=std).double()
        nn.init.normal_(layer.linear.bias)
        weight = layer.linear.weight
        if std is not None:
            nn.init.normal_(layer.linear.gain)
            weight = nn.functional.normalize(weight, dim=1) * layer.linear.gain.unsqueeze(-1)
        right = 0 if causal else reach // 2
        padded = functional.pad(inputs.transpose(1, 2), (reach - right, right))
        oracle = functional.conv1d(padded, as_torchs(weight, kernel), layer.linear.bias, dilation=dilation)
        outputs, _ = layer(inputs, None)
        assert_agrees("B12" if causal else "B13", outputs, oracle.transpose(1, 2), tolerance=1e-12)


def test_a_masked_one_is_a_centred_one_whose_future_half_is_zero(assert_agrees):
    masked = Convolution(INPUT, DIM, kernel=3).double()
    centred = Convolution(INPUT, DIM, kernel=5, causal=False).double()
    centred.linear.weight.data = torch.cat([masked.linear.weight.data, torch.zeros(DIM, 2 * INPUT)], dim=1)
    centred.linear.bias = masked.linear.bias
    inputs = random(BATCH, LENGTH, INPUT)
    assert_agrees("B12", masked(inputs, None)[0], centred(inputs, None)[0], tolerance=1e-12)


def test_by_hand():
    layer = Convolution(1, 1, kernel=2, dilation=2).double()
    layer.linear.weight.data, layer.linear.bias.data = (
        torch.tensor([[10.0, 1.0]]).double(),
        torch.tensor([0.5]).double(),
    )
    outputs, past = layer(torch.tensor([[[1.0], [2.0], [3.0], [4.0]]]).double(), None)
    assert outputs.flatten().tolist() == [1.5, 2.5, 13.5, 24.5]  # x_t + 10 x_(t-2) + 1/2
    assert past.flatten().tolist() == [3.0, 4.0]


def seen_by(layer: nn.Module, length: int, place: int, dim: int) -> Tensor:
    """The inputs that move an output, by its gradient."""
    inputs = random(1, length, dim).requires_grad_()
    outputs, _ = layer(inputs, None)
    (gradient,) = torch.autograd.grad(outputs[0, place].sum(), inputs)
    return gradient[0].abs().sum(dim=-1).nonzero().flatten()


@pytest.mark.parametrize(
    ("kernel", "dilations", "field"),
    [
        (3, [1, 2, 4, 8, 16] * 6, 373),
        (3, [1, 2, 4], 15),
        (3, [1, 2, 4, 8, 16], 63),
        (2, [1, 2, 4, 8], 16),
        (3, [1, 1, 1], 7),
        (1, [1], 1),
    ],
)
def test_receptive_fields_are_exactly_as_wide_as_the_formula(kernel, dilations, field, assert_agrees):
    assert receptive_field(kernel, dilations) == field
    length = 2 * field + 1
    for causal in (True, False):
        layers = [Convolution(2, 2, kernel=kernel, dilation=rate, causal=causal) for rate in dilations]
        first = field + 1 - field if causal else (length - field) // 2
        place = (
            first + field - 1 if causal else first + sum((kernel - 1) * r - (kernel - 1) * r // 2 for r in dilations)
        )
        seen = seen_by(Chain(2, layers).double(), length, place, 2)
        assert_agrees("B12" if causal else "B13", seen, torch.arange(first, first + field), tolerance=0.0)


@pytest.mark.parametrize("num_layers", [1, 3])
def test_gated_blocks_see_one_and_k_minus_one_for_each(num_layers, assert_agrees):
    layers = [GatedBlock(2, 2, kernel=3) for _ in range(num_layers)]
    field = 1 + num_layers * 2
    seen = seen_by(Chain(2, layers).double(), 10, 9, 2)
    assert_agrees("B17", seen, torch.arange(10 - field, 10), tolerance=0.0)


@pytest.mark.parametrize("kind", ["relu", "multiplicative"])
def test_residual_blocks_see_no_more_than_their_convolution(kind, assert_agrees):
    layers = [ResidualBlock(4, kind=kind, dilation=rate) for rate in (1, 2)]
    seen = seen_by(Chain(4, layers).double(), 12, 11, 4)
    assert_agrees("B14", seen, torch.arange(12 - receptive_field(3, [1, 2]), 12), tolerance=0.0)


@pytest.mark.parametrize("causal", [True, False])
def test_what_stands_under_padding_counts_as_zero(causal):
    layer = Convolution(INPUT, DIM, kernel=5, causal=causal).double()
    inputs, mask = random(2, LENGTH, INPUT), torch.arange(LENGTH) < torch.tensor([[LENGTH], [4]])
    dirty = inputs.masked_fill(~mask.unsqueeze(-1), torch.nan)
    outputs, _ = layer(dirty, mask)
    alone, _ = layer(inputs[1:, :4], None)
    assert_close(outputs[1:, :4], alone)


def test_a_centred_one_cannot_go_on():
    layer = Convolution(INPUT, DIM, causal=False)
    with pytest.raises(ValueError, match="in pieces"):
        layer(torch.zeros(1, 2, INPUT), None, torch.zeros(1, 2, INPUT))


def test_the_past_is_what_the_next_outputs_see():
    layer = Convolution(INPUT, DIM, kernel=3, dilation=4).double()
    inputs = random(2, LENGTH, INPUT)
    assert_close(layer(inputs, None)[1], inputs[:, -8:])
    short, mask = inputs[:, :3], torch.tensor([[True, True, True], [True, False, False]])
    past = layer(short, mask)[1]
    assert past.shape == (2, 8, INPUT)
    assert_close(past[1, -1], short[1, 0])
    assert bool((past[1, :-1] == 0).all())


def test_two_of_width_one_are_the_feed_forward_network(assert_agrees):
    network = PositionWise(INPUT, 7).double()
    first, second = Convolution(INPUT, 7, kernel=1).double(), Convolution(7, INPUT, kernel=1).double()
    first.linear, second.linear = network.to_hidden, network.to_out
    inputs = random(BATCH, LENGTH, INPUT)
    by_torch = functional.conv1d(
        functional.conv1d(inputs.mT, network.to_hidden.weight.unsqueeze(-1), network.to_hidden.bias).relu(),
        network.to_out.weight.unsqueeze(-1),
        network.to_out.bias,
    ).mT
    hidden, _ = first(inputs, None)
    assert_agrees("B22", second(hidden.relu(), None)[0], network(inputs)[0])
    assert_agrees("B22", by_torch, network(inputs)[0])


@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_each_layer_keeps_what_its_dilation_sees(num_layers):
    layer = Chain(2, [Convolution(2, 2, dilation=2**depth, std=0.5) for depth in range(num_layers)]).double()
    _, past = layer(random(2, 20, 2), None)
    assert [one.shape[1] for one in past] == [2 * 2**depth for depth in range(num_layers)]
