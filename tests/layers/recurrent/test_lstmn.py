"""The network with a tape of its own states: the paper's equations, its borders, and an LSTM as its special case."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.attention import recording
from regard.layers.recurrent.lstmn import LstmnLayer

INPUT, DIM, LENGTH = 3, 4, 6
LENGTHS = [6, 3, 1, 0]
MASK = torch.arange(LENGTH) < torch.tensor(LENGTHS).unsqueeze(-1)


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def make(tape: int | None) -> LstmnLayer:
    layer = LstmnLayer(INPUT, DIM, hidden_dim=5, memory_size=tape).double()
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.7)
    return layer


def by_hand(layer: LstmnLayer, inputs: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Section 3.1 of the paper, one row, state by state: the states, and the weights on those before each."""
    score, zeros = layer.own.score, torch.zeros(DIM, dtype=torch.float64)
    h_read, tape, looked = zeros, [], []
    for x in inputs:
        seen = tape if layer.memory_size is None else tape[-layer.memory_size :]
        scores = [
            score.to_score.weight[0]
            @ torch.tanh(score.from_key.weight @ h + score.from_query.weight @ torch.cat([x, h_read]))
            for h, _ in seen
        ]
        weights = torch.softmax(torch.stack(scores), dim=0) if scores else zeros[:0]
        looked.append(weights)
        h_read = sum((s * h for s, (h, _) in zip(weights, seen, strict=True)), zeros)
        c_read = sum((s * c for s, (_, c) in zip(weights, seen, strict=True)), zeros)
        gates = layer.from_input.weight @ x + layer.from_input.bias + layer.from_state.weight @ h_read
        i, f, g, o = gates.chunk(4)
        c = f.sigmoid() * c_read + i.sigmoid() * g.tanh()
        tape.append((o.sigmoid() * c.tanh(), c))
    return [h for h, _ in tape], looked


@pytest.mark.parametrize("tape", [None, 1, 2, 50])
def test_equals_the_equations_whatever_the_lengths(tape, assert_agrees):
    layer, inputs = make(tape), random(4, LENGTH, INPUT)
    outputs, past = layer(inputs, MASK)
    for row, length in enumerate(LENGTHS):
        if length:
            wanted = torch.stack(by_hand(layer, inputs[row, :length])[0])
            assert_agrees("D16", outputs[row, :length], wanted)
            assert_agrees("D16", past[0][row], wanted[-1], tolerance=1e-12)
        assert bool((outputs[row, length:] == 0).all())


@pytest.mark.parametrize("tape", [None, 1, 2])
def test_what_it_looks_at_is_recorded_place_by_place(tape, assert_agrees):
    """Row i, column j: what step i reads of the state after step j, wherever on the tape that stands."""
    layer, inputs = make(tape), random(4, LENGTH, INPUT)
    plain, _ = layer(inputs, MASK)
    with recording(layer) as records:
        outputs, past = layer(inputs, MASK)
        layer(inputs[:, :2], MASK[:, :2], past)
    assert_close(outputs, plain, rtol=0, atol=0)
    assert list(records) == ["own"]
    seen, later = (
        torch.cat([one.weights for one in records["own"].answers[a:b]], dim=1) for a, b in ((0, LENGTH), (LENGTH, 8))
    )
    for row, length in enumerate(LENGTHS):
        wanted = torch.zeros(length, LENGTH, dtype=torch.float64)
        for place, weights in enumerate(by_hand(layer, inputs[row, :length])[1]):
            wanted[place, place - len(weights) : place] = weights
        assert_agrees("D16", seen[row, :length], wanted)
    assert later.shape == (4, 2, past[2].shape[1] + 2)  # first what the tape holds, then the new places


def test_a_tape_of_one_state_is_an_lstm(assert_agrees):
    layer, theirs = make(1), nn.LSTM(INPUT, DIM, batch_first=True).double()
    state = {"weight_ih_l0": layer.from_input.weight, "weight_hh_l0": layer.from_state.weight}
    theirs.load_state_dict({**state, "bias_ih_l0": layer.from_input.bias, "bias_hh_l0": torch.zeros(4 * DIM)})
    inputs, begun = random(4, LENGTH, INPUT), random(4, DIM)
    assert_agrees("D16", layer(inputs, None)[0], theirs(inputs)[0])
    wanted, _ = theirs(inputs, (begun.unsqueeze(0), torch.zeros(1, 4, DIM, dtype=torch.float64)))
    assert_agrees("D16", layer(inputs, None, layer.begun(begun))[0], wanted)


def test_a_capped_tape_stays_short_and_another_grows():
    inputs = random(2, LENGTH, INPUT)
    assert [make(tape)(inputs, None)[1][2].shape[1] for tape in (None, 3)] == [LENGTH, 3]
