"""Both directions and layers upon layers, against torch's own networks on packed rows."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.testing import assert_close

from regard.layers.recurrent import Bidirectional, Stack, reverse
from regard.layers.recurrent.gru import GruLayer
from regard.layers.recurrent.lstm import LstmLayer

INPUT, DIM, LENGTH = 3, 4, 6
LENGTHS = [6, 1, 4]
CELLS = {"gru": (GruLayer, nn.GRU), "lstm": (LstmLayer, nn.LSTM)}
EXACT = 1e-12


def case() -> tuple[Tensor, Tensor]:
    inputs = torch.randn(len(LENGTHS), LENGTH, INPUT, dtype=torch.float64)
    return inputs, torch.arange(LENGTH) < torch.tensor(LENGTHS).unsqueeze(-1)


def packed(network: nn.Module, inputs: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
    rows = pack_padded_sequence(inputs, torch.tensor(LENGTHS), batch_first=True, enforce_sorted=False)
    outputs, end = network(rows)
    padded, _ = pad_packed_sequence(outputs, batch_first=True, total_length=LENGTH)
    return padded, end if isinstance(end, tuple) else (end,)


def copied(network: nn.Module, number: int, suffix: str = "") -> dict[str, Tensor]:
    """The weights of one layer and direction, under the names of a network of one layer."""
    end = f"_l{number}{suffix}"
    return {
        name.removesuffix(end) + "_l0": tensor for name, tensor in network.state_dict().items() if name.endswith(end)
    }


@pytest.mark.parametrize("cell", CELLS)
def test_both_directions_equal_torch(cell, assert_agrees):
    ours, torchs = CELLS[cell]
    theirs = torchs(INPUT, DIM, batch_first=True, bidirectional=True).double()
    layer = Bidirectional(ours(INPUT, DIM), ours(INPUT, DIM)).double()
    layer.forwards.network.load_state_dict(copied(theirs, 0))
    layer.backwards.network.load_state_dict(copied(theirs, 0, "_reverse"))
    inputs, mask = case()
    outputs, ends = layer(inputs, mask)
    wanted, wanted_ends = packed(theirs, inputs)
    assert layer.dim == outputs.shape[-1] == 2 * DIM
    assert_agrees("B04", outputs, wanted, EXACT)
    for end, (ahead, back) in zip(ends, wanted_ends, strict=True):
        assert_agrees("B04", end, torch.cat([ahead, back], dim=-1), EXACT)


@pytest.mark.parametrize("cell", CELLS)
def test_added_directions_are_the_sum_of_the_halves(cell, assert_agrees):
    ours, _ = CELLS[cell]
    ways = ours(INPUT, DIM), ours(INPUT, DIM)
    inputs, mask = case()
    outputs, ends = Bidirectional(*ways).double()(inputs, mask)
    layer = Bidirectional(*ways, merge="add").double()
    added, merged = layer(inputs, mask)
    assert layer.dim == DIM
    assert_agrees("B04", added, outputs[..., :DIM] + outputs[..., DIM:], EXACT)
    for mine, end in zip(merged, ends, strict=True):
        assert_agrees("B04", mine, end[:, :DIM] + end[:, DIM:], EXACT)


@pytest.mark.parametrize("cell", CELLS)
def test_two_layers_equal_torch(cell, assert_agrees):
    ours, torchs = CELLS[cell]
    theirs = torchs(INPUT, DIM, num_layers=2, batch_first=True).double()
    layers = Stack([ours(INPUT, DIM), ours(DIM, DIM)], dropout=0.5).double().eval()
    for number, layer in enumerate(layers.layers):
        layer.network.load_state_dict(copied(theirs, number))
    inputs, mask = case()
    outputs, pasts = layers(inputs, mask)
    wanted, wanted_ends = packed(theirs, inputs)
    assert_agrees("B04", outputs, wanted, EXACT)
    for number, past in enumerate(pasts):
        for mine, oracle in zip(past, wanted_ends, strict=True):
            assert_agrees("B04", mine, oracle[number], EXACT)
    assert len(pasts) == 2


def test_dropout_stands_between_the_layers_only():
    """With everything dropped the upper layer reads zeros, and the lower one still reads all."""
    layers = Stack([GruLayer(INPUT, DIM), GruLayer(DIM, DIM)], dropout=1.0).double().train()
    inputs, mask = case()
    outputs, pasts = layers(inputs, mask)
    lower, end = layers.layers[0](inputs, mask)
    assert_close(outputs, layers.layers[1](torch.zeros_like(lower), mask)[0])
    assert_close(pasts[0], end)


@given(st.lists(st.lists(st.integers(1, 99), max_size=6), min_size=1, max_size=5), st.integers(0, 3))
def test_reversal_turns_each_row_within_its_length_and_twice_is_nothing(rows, padding):
    width = max(map(len, rows)) + padding
    items = torch.tensor([row + [-place for place in range(len(row), width)] for row in rows]).view(len(rows), width)
    mask = torch.arange(width) < torch.tensor([[len(row)] for row in rows])
    turned = reverse(items, mask)
    for row, line, before in zip(rows, turned.tolist(), items.tolist(), strict=True):
        assert line == row[::-1] + before[len(row) :]
    assert torch.equal(reverse(turned, mask), items)
    assert torch.equal(reverse(torch.stack([items, -items], dim=-1), mask), torch.stack([turned, -turned], dim=-1))
