"""Sliced recurrent networks: a plain one in a special case, and the paper's definition in every other."""

import pytest
import torch
from torch import Tensor

from regard.layers.pooling.sliced import SlicedPooling
from regard.registry import Choice

DIM = 4


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def linear_network(slices: int, depth: int, length: int) -> tuple[SlicedPooling, Tensor, Tensor]:
    """Numbers that are never negative make max(0, ·) the identity: a linear network, sliced so as to equal W, U."""
    pooling = SlicedPooling(DIM, cell=Choice("rnn", {"nonlinearity": "relu"}), slices=slices, depth=depth).double()
    recurrent, from_input = random(DIM, DIM).abs() / DIM, random(DIM, DIM).abs()
    shortest = length // slices**depth
    for number, layer in enumerate(pooling.layers):
        network = layer.network
        steps = 1 if number == 0 else shortest * slices ** (number - 1)
        network.weight_hh_l0.data = torch.linalg.matrix_power(recurrent, steps)
        network.weight_ih_l0.data = from_input if number == 0 else torch.eye(DIM, dtype=torch.float64)
        for bias in (network.bias_ih_l0, network.bias_hh_l0):
            torch.nn.init.zeros_(bias)
    return pooling, recurrent, from_input


@pytest.mark.parametrize(("slices", "depth", "length"), [(3, 2, 18), (2, 3, 16), (8, 1, 24), (2, 0, 7), (4, 2, 16)])
def test_a_linear_network_is_the_same_in_slices(slices, depth, length, assert_agrees):
    pooling, recurrent, from_input = linear_network(slices, depth, length)
    inputs = random(2, length, DIM).abs()
    wanted = sum(
        inputs[:, place] @ from_input.t() @ torch.linalg.matrix_power(recurrent, length - 1 - place).t()
        for place in range(length)
    )
    assert_agrees("B10", pooling(inputs), wanted)


@pytest.mark.parametrize("cell", ["gru", "lstm", "sru"])
@pytest.mark.parametrize("length", [*range(1, 10), 16, 17])
def test_equals_slicing_by_hand_with_padding_on_the_left(cell, length, assert_agrees):
    """Padded to a multiple of n^k, cut in n again and again; padding is skipped, as is a piece of nothing else."""
    slices, depth = 2, 2
    pooling, inputs = (
        SlicedPooling(DIM, cell=Choice(cell), hidden_dim=3, slices=slices, depth=depth).double(),
        random(1, length, DIM),
    )
    each = -(-length // slices**depth)
    left = each * slices**depth - length
    level: list[Tensor | None] = [None] * left + list(inputs[0])
    group = each
    for layer in pooling.layers:
        ends: list[Tensor | None] = []
        for first in range(0, len(level), group):
            real = [one for one in level[first : first + group] if one is not None]
            ends.append(layer(torch.stack(real).unsqueeze(0), None)[1][0][0] if real else None)
        level, group = ends, slices
    assert len(level) == 1 and level[0] is not None
    assert_agrees("B10", pooling(inputs)[0], level[0])


def test_one_piece_of_all_is_a_plain_network(assert_agrees):
    pooling = SlicedPooling(DIM, depth=0).double()
    inputs = random(3, 9, DIM)
    assert_agrees("B10", pooling(inputs), pooling.layers[0](inputs, None)[1][0], tolerance=1e-12)


def test_pieces_of_one_word_leave_the_work_to_the_layer_above(assert_agrees):
    """n = T, k = 1: a network over the states that the lowest makes of each word alone."""
    pooling, inputs = SlicedPooling(DIM, slices=6, depth=1).double(), random(2, 6, DIM)
    below, above = pooling.layers
    words = below(inputs.reshape(12, 1, DIM), None)[1][0].view(2, 6, DIM)
    assert_agrees("B10", pooling(inputs), above(words, None)[1][0], tolerance=1e-12)


def test_layers_share_nothing():
    pooling = SlicedPooling(DIM, hidden_dim=3)
    assert len({id(one) for layer in pooling.layers for one in layer.parameters()}) == 3 * 4
