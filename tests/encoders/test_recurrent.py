"""The recurrent encoder against torch's networks, and its states in the order of the words."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.testing import assert_close

from regard.attention import Attention, Sockets
from regard.encoders.recurrent import RecurrentEncoder
from regard.errors import ConfigError
from regard.layers.recurrent import RECURRENT
from regard.records import Sequences
from regard.registry import Choice

INPUT, HIDDEN, LENGTH = 3, 4, 6
LENGTHS = [6, 3, 1]
TORCHS = {"gru": nn.GRU, "lstm": nn.LSTM, "rnn": nn.RNN}


def no_attention(*dims: int) -> Attention:
    raise AssertionError("a recurrent encoder looks at nothing")


def encoder(cell: str = "gru", **settings: object) -> RecurrentEncoder:
    torch.manual_seed(7)
    sockets = Sockets(no_attention, no_attention, no_attention)
    return RecurrentEncoder(INPUT, sockets, cell=Choice(cell), hidden_dim=HIDDEN, **settings).double().eval()


def source(lengths: list[int] = LENGTHS) -> Sequences:
    vectors = torch.randn(len(lengths), LENGTH, INPUT, dtype=torch.float64)
    return Sequences(vectors, torch.arange(LENGTH) < torch.tensor(lengths).unsqueeze(-1))


@pytest.fixture(params=RECURRENT)
def cell(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("cell", TORCHS)
def test_two_layers_equal_torch(cell, bidirectional, assert_agrees):
    mine = encoder(cell, num_layers=2, bidirectional=bidirectional)
    theirs = TORCHS[cell](INPUT, HIDDEN, 2, batch_first=True, bidirectional=bidirectional).double()
    for number, layer in enumerate(mine.layers):
        ways = {"": layer.forwards, "_reverse": layer.backwards} if bidirectional else {"": layer}
        for suffix, way in ways.items():
            for name, parameter in way.network.named_parameters():
                getattr(theirs, name.replace("_l0", f"_l{number}{suffix}")).data = parameter.data
    read = source()
    packed = pack_padded_sequence(read.items, torch.tensor(LENGTHS), batch_first=True, enforce_sorted=False)
    outputs, end = theirs(packed)
    wanted, _ = pad_packed_sequence(outputs, batch_first=True)
    hidden = (end if cell == "lstm" else (end,))[0].unflatten(0, (2, -1))  # (layer, direction, batch, dim)
    seen = mine(read)
    assert_agrees("B04", seen.states, wanted, tolerance=1e-12)
    assert_agrees("B04", seen.final, torch.cat(list(hidden[1]), dim=-1), tolerance=1e-12)
    for past, one in zip(seen.past, hidden, strict=True):
        assert_agrees("B04", past[0], torch.cat(list(one), dim=-1), tolerance=1e-12)


@pytest.mark.parametrize("cell", TORCHS)
def test_the_lowest_layer_alone_both_ways_and_residuals_above(cell, assert_agrees):
    """GNMT: layer 1 in both directions; 2 and up from left to right, and from 3 on what is read is added."""
    mine, read = encoder(cell, num_layers=4, bidirectional="lowest", residual_from=3), source()
    assert mine.dim == HIDDEN
    states, _ = mine.layers[0](read.items, read.mask)
    assert states.shape[-1] == 2 * HIDDEN
    states, _ = mine.layers[1](states, read.mask)
    for layer in mine.layers[2:]:
        states = layer(states, read.mask)[0] + states
    assert_agrees("C05", mine(read).states, states)


def test_what_cannot_be_added_is_refused():
    with pytest.raises(ConfigError, match=r"residual_from: layer 2 reads 8 numbers and writes 4"):
        encoder(num_layers=2, bidirectional="lowest", residual_from=2)


@pytest.mark.parametrize("num_layers", [1, 2])
def test_final_is_the_last_of_forward_and_the_first_of_backward(cell, num_layers, assert_agrees):
    seen = encoder(cell, num_layers=num_layers)(source())
    last = torch.stack([seen.states[row, length - 1, :HIDDEN] for row, length in enumerate(LENGTHS)])
    assert_agrees("B04", seen.final, torch.cat([last, seen.states[:, 0, HIDDEN:]], dim=-1), tolerance=1e-12)


@pytest.mark.parametrize("bidirectional", [True, False])
def test_reversed_equals_feeding_each_row_backwards_and_turning_the_states(cell, bidirectional, assert_agrees):
    ahead = encoder(cell, num_layers=2, bidirectional=bidirectional)
    back = encoder(cell, num_layers=2, bidirectional=bidirectional, reverse=True)
    read = source()
    together = back(read)
    for row, length in enumerate(LENGTHS):
        turned = read.items[row : row + 1, :length].flip(1)
        alone = ahead(Sequences(turned, torch.ones(1, length, dtype=torch.bool)))
        assert_agrees("C02", together.states[row : row + 1, :length], alone.states.flip(1), tolerance=1e-12)
        assert_agrees("C02", together.final[row : row + 1], alone.final, tolerance=1e-12)
    assert bool((together.states[~read.mask] == 0).all())


def test_merged_ways_are_as_wide_as_one_and_others_twice(cell):
    assert encoder(cell, merge="add").dim == HIDDEN
    assert encoder(cell, merge="concatenate").dim == 2 * HIDDEN


def test_dropout_drops_states_while_training_but_never_what_layers_end_with():
    model = encoder(num_layers=1, dropout=0.5)
    read = source([LENGTH] * 40)
    kept = model(read)
    seen = model.train()(read)
    share = (seen.states == 0).double().mean().item()
    assert abs(share - 0.5) < 0.06  # 1,920 draws: five deviations
    assert_close(seen.states[seen.states != 0], kept.states[seen.states != 0] * 2)
    assert_close(seen.final, kept.final)
