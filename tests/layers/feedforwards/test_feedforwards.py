"""What stands after attention in a block, each by its definition."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.layers.feedforwards import FEEDFORWARDS
from regard.layers.feedforwards.sru import BidirectionalSruFeedForward, SruFeedForward
from regard.layers.recurrent import reverse
from regard.registry import Choice

DIM, HIDDEN, LENGTH = 4, 7, 6
MASK = torch.arange(LENGTH) < torch.tensor([[6], [3], [0]])


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


@pytest.mark.parametrize("name", FEEDFORWARDS)
def test_widths_and_gradients(name):
    layer, inputs = FEEDFORWARDS.build(Choice(name), DIM, HIDDEN).double(), random(3, LENGTH, DIM).requires_grad_()
    outputs, _ = layer(inputs, MASK)
    assert outputs.shape == (3, LENGTH, layer.dim) and layer.dim == DIM
    assert torch.autograd.gradcheck(lambda some: layer(some, MASK)[0], inputs)
    changed, _ = layer(inputs.masked_fill(~MASK.unsqueeze(-1), 9.0), MASK)
    assert_close(changed[MASK], outputs[MASK], rtol=0, atol=0)


@pytest.mark.parametrize("name", FEEDFORWARDS)
def test_a_dropout_of_its_own_comes_before_the_block(name):
    shares = [
        FEEDFORWARDS.build(Choice(name, own), DIM, HIDDEN, given={"dropout": 0.25}).dropout.probability
        for own in ({}, {"dropout": 0.5})
    ]
    assert shares == [0.25, 0.5]


def test_units_read_from_left_to_right_and_are_projected(assert_agrees):
    layer, inputs = SruFeedForward(DIM, HIDDEN).double(), random(3, LENGTH, DIM)
    hidden, _ = layer.unit(inputs, MASK)
    assert_agrees("B09", layer(inputs, MASK)[0], hidden @ layer.to_out.weight.t() + layer.to_out.bias)
    later = inputs.clone()
    later[:, 3:] += 1
    assert_agrees("B09", layer(later, None)[0][:, :3], layer(inputs, None)[0][:, :3], tolerance=0.0)


def test_units_both_ways_read_each_sentence_within_its_length(assert_agrees):
    layer, inputs = BidirectionalSruFeedForward(DIM, HIDDEN).double(), random(3, LENGTH, DIM)
    ahead, _ = layer.units.forwards(inputs, MASK)
    back, _ = layer.units.backwards(reverse(inputs, MASK), MASK)
    both = torch.cat([ahead, reverse(back, MASK)], dim=-1)
    assert both.shape[-1] == HIDDEN  # the halves of an odd width, too
    assert_agrees("B09", layer(inputs, MASK)[0], both @ layer.to_out.weight.t() + layer.to_out.bias)
    assert_close(layer(inputs, None)[0], layer(inputs, torch.ones_like(MASK))[0])
