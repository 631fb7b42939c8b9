"""The scan of linear recurrences, and the unit of one gate that stands on it."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.layers.recurrent.kernels.choose import linear_loop, linear_recurrence, linear_scan
from regard.layers.recurrent.ssru import SsruLayer

DIM = 3


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


@pytest.mark.parametrize("length", range(41))
def test_the_scan_equals_the_loop_at_every_length(length, assert_agrees):
    decays, added, start = random(2, length, DIM), random(2, length, DIM), random(2, DIM)
    assert_agrees("B08", linear_scan(decays, added, start), linear_loop(decays, added, start), tolerance=1e-12)


@pytest.mark.parametrize("length", [1, 2, 5, 8])
def test_first_and_second_derivatives(length):
    given = [one.requires_grad_() for one in (random(2, length, DIM), random(2, length, DIM), random(2, DIM))]
    assert torch.autograd.gradcheck(linear_scan, given)
    assert torch.autograd.gradgradcheck(linear_scan, given)


def test_vanishing_decays_do_no_harm():
    """A division by the product of all decays would be 0 / 0 here."""
    decays = torch.full((1, 500, DIM), 1e-30)
    added = torch.ones(1, 500, DIM)
    assert_close(linear_scan(decays, added, torch.zeros(1, DIM)), added)


def test_nothing_depends_on_what_comes_later(assert_agrees):
    decays, added, start = random(1, 13, DIM), random(1, 13, DIM), random(1, DIM)
    whole = linear_recurrence(decays, added, start)
    changed = added.clone()
    changed[:, 6:] += 1
    assert_agrees("B08", linear_recurrence(decays, changed, start)[:, :6], whole[:, :6], tolerance=0.0)


def test_a_unit_of_one_gate_equals_its_equations(assert_agrees):
    layer = SsruLayer(DIM, 4).double()
    torch.nn.init.normal_(layer.bias)
    inputs, c = random(1, 9, DIM), random(1, 4)
    outputs, (h, end) = layer(inputs, None, (torch.zeros_like(c), c))
    w_c, w_f = layer.weight.split(4)
    wanted, state = [], c[0]
    for x in inputs[0]:
        f = 1 / (1 + torch.exp(-(w_f @ x + layer.bias)))
        state = f * state + (1 - f) * (w_c @ x)
        wanted.append(state.clamp(min=0))
    for mine, oracle in ((outputs, torch.stack(wanted)), (h, wanted[-1]), (end, state)):
        assert_agrees("B06", mine[0], oracle, tolerance=1e-12)


def test_a_unit_has_two_matrices_and_one_bias():
    assert sum(one.numel() for one in SsruLayer(DIM, 4).parameters()) == 2 * 4 * DIM + 4


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("length", [3, 800])
def test_numbers_of_half_precision_are_summed_up_in_single(dtype, length):
    """What is far less than the sum so far would be rounded away, step by step."""
    decays = (0.99 + 0.01 * torch.rand(2, length, 4)).to(dtype)
    added, start = torch.rand(2, length, 4).to(dtype), torch.full((2, 4), 200.0).to(dtype)
    states = linear_recurrence(decays, added, start)
    assert states.dtype == torch.float32
    assert_close(states.double(), linear_recurrence(decays.double(), added.double(), start.double()), rtol=1e-4, atol=0)
