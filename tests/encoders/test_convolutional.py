"""The encoder of ConvS2S: what it sees, what is read of it."""

import pytest
import torch

from regard.attention import Sockets
from regard.encoders.convolutional import ConvolutionalEncoder
from regard.records import Sequences

DIM = 4


def none_at_all(*_: int) -> None:
    raise AssertionError("this encoder builds no attention")


SOCKETS = Sockets(none_at_all, none_at_all, none_at_all)


def encoder(**settings: object) -> ConvolutionalEncoder:
    return ConvolutionalEncoder(DIM, SOCKETS, **{"hidden_dim": 6, "dropout": 0.0, **settings}).double()


def source(rows: int, length: int) -> Sequences:
    mask = torch.ones(rows, length, dtype=torch.bool)
    return Sequences(torch.randn(rows, length, DIM, dtype=torch.float64), mask)


@pytest.mark.parametrize(("num_layers", "kernel"), [(3, 3), (2, 5), (1, 1)])
def test_a_state_sees_one_and_k_minus_one_for_each_layer(num_layers, kernel, assert_agrees):
    items, mask = source(1, 21)
    items.requires_grad_()
    states = encoder(num_layers=num_layers, kernel=kernel)(Sequences(items, mask)).states
    (gradient,) = torch.autograd.grad(states[0, 10].sum(), items)
    side = num_layers * (kernel - 1) // 2
    places = gradient[0].abs().sum(dim=-1).nonzero().flatten()
    assert_agrees("C10", places, torch.arange(10 - side, 10 + side + 1), tolerance=0.0)


def test_what_is_read_is_the_state_and_its_embedding(assert_agrees):
    given = source(2, 5)
    seen = encoder(num_layers=2)(given)
    assert_agrees("C10", seen.values, seen.states + given.items, tolerance=1e-12)
    assert_agrees("C10", seen.final, seen.states.mean(dim=1), tolerance=1e-12)


def test_equal_widths_need_no_maps():
    assert len(list(encoder(hidden_dim=DIM, num_layers=0).parameters())) == 0
    assert len(list(encoder(hidden_dim=6, num_layers=0).parameters())) == 6


@torch.no_grad()
def test_the_variance_goes_through():
    """From N(0, 0.1²), with dropout, through maps and 15 layers."""
    model = ConvolutionalEncoder(64, SOCKETS, hidden_dim=128, num_layers=15, dropout=0.2)
    items = torch.randn(16, 30, 64) * 0.1
    seen = model(Sequences(items, torch.ones(16, 30, dtype=torch.bool)))
    kept = 1 / (1 - 0.2)  # dropout of the states themselves
    assert 0.5 < float(seen.states.var() / kept / items.var()) < 2.0
