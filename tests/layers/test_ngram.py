"""The n-gram layer against the equation, and both cells over states against a network with that layer above it."""

import pytest
import torch
from torch.testing import assert_close

from regard.errors import ConfigError
from regard.layers.key_value import KeyValueLayer
from regard.layers.ngram import NgramLayer
from regard.layers.recurrent.over_states import KeyValueCell, NgramCell

DIM, LENGTH, LENGTHS = 12, 7, [7, 4, 1, 0]
MASK = torch.arange(LENGTH) < torch.tensor(LENGTHS).unsqueeze(-1)


def random(*shape):
    return torch.randn(*shape, dtype=torch.float64)


@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_equals_the_equation_state_by_state(order, assert_agrees):
    layer, states = NgramLayer(DIM, order=order).double(), random(4, LENGTH, DIM)
    outputs, _ = layer(states, MASK)
    zeros = torch.zeros(DIM, dtype=torch.float64)
    for row, length in enumerate(LENGTHS):
        for place in range(length):
            parts = [
                (states[row, place - back] if place >= back else zeros).split(layer.dim)[back]
                for back in range(order - 1)
            ]
            assert_agrees("A19", outputs[row, place], torch.tanh(layer.from_parts.weight @ torch.cat(parts)))


def test_a_bigram_sees_the_present_state_alone():
    layer, states = NgramLayer(DIM, order=2).double(), random(2, 3, DIM)
    assert_close(layer(states, None)[0], torch.tanh(states @ layer.from_parts.weight.T))


def test_states_that_do_not_split_are_refused():
    with pytest.raises(ConfigError, match="split states in 5 equal parts, but their dim is 12"):
        NgramLayer(DIM, order=6)


@pytest.mark.parametrize("mask", [None, MASK], ids=["whole", "padded"])
@pytest.mark.parametrize("mode", ["plain", "key_value", "key_value_predict"])
@pytest.mark.parametrize("cell", ["gru", "lstm", "rnn"])
def test_a_key_value_cell_is_a_network_below_its_layer(cell, mode, mask, assert_agrees):
    made, inputs = KeyValueCell(5, 4, mode=mode, window=3, cell=cell).double(), random(4, LENGTH, 5)
    assert made.layer.dim == made.dim == 4
    wanted, _ = KeyValueLayer.forward(made.layer, made.inner(inputs, mask)[0], mask)
    outputs, past = made(inputs, mask)
    shown = torch.ones_like(MASK) if mask is None else mask
    assert_agrees("D17", outputs[shown], wanted[shown])
    assert past[-1].shape[1] == 3


@pytest.mark.parametrize("mask", [None, MASK], ids=["whole", "padded"])
@pytest.mark.parametrize("order", [2, 4])
def test_an_ngram_cell_is_a_network_below_its_layer(order, mask, assert_agrees):
    made, inputs = NgramCell(5, 4, order=order).double(), random(4, LENGTH, 5)
    wanted, _ = made.layer(made.inner(inputs, mask)[0], mask)
    shown = torch.ones_like(MASK) if mask is None else mask
    assert_agrees("D17", made(inputs, mask)[0][shown], wanted[shown])


@pytest.mark.parametrize("made", [KeyValueCell(5, 4), NgramCell(5, 4)], ids=["key_value", "ngram"])
def test_the_state_that_a_decoder_begins_in_changes_what_is_written(made):
    inputs, state = torch.randn(2, 3, 5), torch.randn(2, 4)
    first, _ = made(inputs, None, made.begun(state))
    other, _ = made(inputs, None, made.begun(torch.zeros_like(state)))
    nothing, _ = made(inputs, None)
    assert_close(other, nothing)
    assert not torch.allclose(first, nothing)
