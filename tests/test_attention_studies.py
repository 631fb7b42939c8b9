"""The studies of attention: variance and saturation of dot products, and the shift of sinusoids."""

import math

import pytest
import torch
from torch import tensor
from torch.testing import assert_close

from benchmarks import benchmark

saturation, shift = benchmark("saturation"), benchmark("shift")


@pytest.mark.parametrize("dim", [4, 64])
def test_the_variance_of_products_is_their_width(dim):
    assert abs(saturation.variance(dim) - 1) < 0.05


def test_the_jacobian_of_a_softmax_is_that_of_autograd():
    scores = torch.randn(7)
    jacobian = torch.autograd.functional.jacobian(lambda one: one.softmax(dim=-1), scores)
    assert_close(saturation.jacobian_norm(scores.softmax(dim=-1)), jacobian.norm())


def test_entropy_by_hand():
    assert_close(saturation.entropy(tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])), tensor([math.log(2), 0.0]))


def test_the_scale_keeps_a_softmax_from_saturation():
    (scaled, steep), (plain, flat) = saturation.saturation(256, 256**-0.5), saturation.saturation(256, 1.0)
    assert scaled > 0.8
    assert plain < 0.3
    assert steep > flat


@pytest.mark.parametrize(("dim", "count"), [(6, 1), (16, 9)])
def test_a_shift_is_a_rotation(dim, count):
    places = tensor([0.0, 5.0, 300.0]).double()
    rates = 1e4 ** (-torch.arange(0, dim, 2).double() / dim)

    def waves(one):
        return torch.stack([(one[:, None] * rates).sin(), (one[:, None] * rates).cos()], dim=-1).flatten(1)

    assert_close(waves(places) @ shift.rotation(dim, count).t(), waves(places + count))
    assert max(shift.residuals(dim, count)) < 1e-5
    assert shift.spread(dim, count) < 1e-9
