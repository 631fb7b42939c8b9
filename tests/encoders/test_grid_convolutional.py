"""Convolutions over a grid of cells, against torch's own, and the cells that each state sees."""

import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close

from regard.attention import Sockets
from regard.encoders.grid_convolutional import GridConvolutionalEncoder
from regard.records import Sequences

DIM = 3


def none_at_all(*_: int) -> None:
    raise AssertionError("this encoder builds no attention")


def encoder(**settings: object) -> GridConvolutionalEncoder:
    sockets = Sockets(none_at_all, none_at_all, none_at_all)
    return GridConvolutionalEncoder(DIM, sockets, **{"dropout": 0.0, **settings}).double()


def source(rows: int, length: int) -> Sequences:
    mask = torch.ones(rows, length, dtype=torch.bool)
    return Sequences(torch.randn(rows, length, DIM, dtype=torch.float64), mask)


def test_states_are_those_of_torchs_convolutions():
    model, cells = encoder(columns=5, dilations=(1, 2)), source(2, 20)
    images = cells.items.unflatten(1, (4, 5)).permute(0, 3, 1, 2)
    for layer in model.layers:
        weight = layer.linear.weight.view(DIM, 3, 3, DIM).permute(0, 3, 1, 2)
        seen = functional.conv2d(images, weight, layer.linear.bias, padding=layer.dilation, dilation=layer.dilation)
        images = images + seen.relu()
    seen = model(cells)
    assert_close(seen.states, images.permute(0, 2, 3, 1).flatten(1, 2))
    assert_close(seen.final, seen.states.mean(dim=1))


@pytest.mark.parametrize("length", [23, 25])
def test_a_state_sees_the_square_around_its_cell(length):
    cells = source(1, length)
    items = cells.items.requires_grad_()
    states = encoder(columns=5, dilations=(1,))(cells._replace(items=items)).states
    (gradient,) = torch.autograd.grad(states[0, 12].sum(), items)  # row 2, column 2
    seen = gradient[0].abs().sum(dim=-1).nonzero().flatten().tolist()
    assert set(seen) <= {6, 7, 8, 11, 12, 13, 16, 17, 18} and 12 in seen
