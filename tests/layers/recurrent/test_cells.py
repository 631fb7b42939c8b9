"""Each recurrent layer against torch's own, against its equations, and at the borders."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.layers.recurrent.gru import GruLayer
from regard.layers.recurrent.lstm import LstmLayer
from regard.layers.recurrent.recurrent import Recurrent
from regard.layers.recurrent.rnn import RnnLayer

INPUT, DIM, LENGTH = 3, 4, 6
LENGTHS = [6, 3, 1, 0]
MAKERS = {
    "rnn": lambda: RnnLayer(INPUT, DIM),
    "rnn-relu": lambda: RnnLayer(INPUT, DIM, nonlinearity="relu"),
    "gru": lambda: GruLayer(INPUT, DIM),
    "gru-before": lambda: GruLayer(INPUT, DIM, reset_after=False),
    "lstm": lambda: LstmLayer(INPUT, DIM),
}
ENTRIES = {RnnLayer: "B01", GruLayer: "B02", LstmLayer: "B03"}


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def shaken(layer: Recurrent) -> Recurrent:
    """In float64, with biases that are not zero."""
    layer = layer.double()
    for name, parameter in layer.named_parameters():
        if "bias" in name:
            nn.init.normal_(parameter)
    return layer


@pytest.fixture(params=MAKERS)
def layer(request: pytest.FixtureRequest) -> Recurrent:
    return shaken(MAKERS[request.param]())


@pytest.fixture
def mask() -> Tensor:
    return torch.arange(LENGTH) < torch.tensor(LENGTHS).unsqueeze(-1)


def step(layer: Recurrent, x: Tensor, past: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """One step of one row, written from the equations."""
    network = layer.network
    w, u, b, c = network.weight_ih_l0, network.weight_hh_l0, network.bias_ih_l0, network.bias_hh_l0
    h = past[0]
    if isinstance(layer, RnnLayer):
        total = w @ x + b + u @ h + c
        return (total.tanh() if network.nonlinearity == "tanh" else total.clamp(min=0),)
    if isinstance(layer, LstmLayer):
        i, f, g, o = (w @ x + b + u @ h + c).chunk(4)
        memory = f.sigmoid() * past[1] + i.sigmoid() * g.tanh()
        return o.sigmoid() * memory.tanh(), memory
    (w_r, w_z, w_n), (u_r, u_z, u_n), (b_r, b_z, b_n), (c_r, c_z, c_n) = (part.chunk(3) for part in (w, u, b, c))
    r = (w_r @ x + b_r + u_r @ h + c_r).sigmoid()
    z = (w_z @ x + b_z + u_z @ h + c_z).sigmoid()
    new = (w_n @ x + b_n + (r * (u_n @ h + c_n) if layer.reset_after else u_n @ (r * h) + c_n)).tanh()
    return (z * h + (1 - z) * new,)


def test_rows_of_any_length_equal_a_loop_of_the_equations(layer, mask, assert_agrees):
    entry, inputs = ENTRIES[type(layer)], random(4, LENGTH, INPUT)
    past = tuple(random(4, DIM) for _ in layer.nothing(inputs))
    outputs, end = layer(inputs, mask, past)
    for row, length in enumerate(LENGTHS):
        now = tuple(one[row] for one in past)
        for place in range(length):
            now = step(layer, inputs[row, place], now)
            assert_agrees(entry, outputs[row, place], now[0], tolerance=1e-12)
        assert bool((outputs[row, length:] == 0).all())
        for mine, oracle in zip(end, now, strict=True):
            assert_agrees(entry, mine[row], oracle, tolerance=1e-12)


@pytest.mark.parametrize(
    ("name", "torchs"),
    [
        ("rnn", nn.RNN(INPUT, DIM, batch_first=True)),
        ("rnn-relu", nn.RNN(INPUT, DIM, nonlinearity="relu", batch_first=True)),
        ("gru", nn.GRU(INPUT, DIM, batch_first=True)),
        ("lstm", nn.LSTM(INPUT, DIM, batch_first=True)),
    ],
)
@pytest.mark.parametrize("begun", [False, True])
def test_equals_torch_with_the_same_weights(name, torchs, begun, assert_agrees):
    layer, theirs = shaken(MAKERS[name]()), torchs.double()
    theirs.load_state_dict(layer.network.state_dict())
    inputs = random(4, LENGTH, INPUT)
    past = tuple(random(4, DIM) for _ in layer.nothing(inputs)) if begun else None
    given = None if past is None else tuple(one.unsqueeze(0) for one in past)
    wanted, end = theirs(inputs, given if given is None or len(given) > 1 else given[0])
    outputs, after = layer(inputs, None, past)
    entry = ENTRIES[type(layer)]
    assert_agrees(entry, outputs, wanted, tolerance=1e-12)
    for mine, oracle in zip(after, end if isinstance(end, tuple) else (end,), strict=True):
        assert_agrees(entry, mine, oracle[0], tolerance=1e-12)


def test_recurrent_weights_begin_orthogonal_gate_by_gate_and_biases_zero():
    for maker in MAKERS.values():
        network = maker().double().network
        for gate in network.weight_hh_l0.split(DIM):
            assert_close(gate @ gate.t(), torch.eye(DIM, dtype=torch.float64), rtol=0, atol=1e-6)
        assert bool((network.bias_hh_l0 == 0).all())


@pytest.mark.parametrize("bias", [1.0, 2.5])
def test_only_the_forget_gate_begins_with_a_bias(bias):
    network = LstmLayer(INPUT, DIM, forget_bias=bias).network
    total = (network.bias_ih_l0 + network.bias_hh_l0).view(4, DIM)  # i, f, g, o
    assert total.mean(dim=1).tolist() == [0, bias, 0, 0] and total.std(dim=1).tolist() == [0] * 4


def test_a_gru_has_three_quarters_of_the_parameters_of_an_lstm():
    gru, lstm = (sum(p.numel() for p in MAKERS[name]().parameters()) for name in ("gru", "lstm"))
    assert gru * 4 == lstm * 3
