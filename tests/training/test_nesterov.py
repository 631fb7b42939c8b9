"""Nesterov's momentum against the iteration as it is written down."""

import pytest
import torch
from torch import Tensor, nn

from regard.registry import Choice
from regard.training.optimizers import OPTIMIZERS

RATE, STEPS = 0.05, 30


def slope(place: Tensor) -> Tensor:
    """Of 2 x² + y⁴ / 4."""
    return torch.stack([4 * place[0], place[1] ** 3])


@pytest.mark.parametrize("momentum", [0.5, 0.99])
def test_equals_a_look_ahead(momentum, assert_agrees):
    parameter = nn.Parameter(torch.tensor([1.0, -2.0], dtype=torch.float64))
    optimizer = OPTIMIZERS.build(Choice("nesterov", {"momentum": momentum}), [parameter])
    optimizer.param_groups[0]["lr"] = RATE
    w, v = parameter.detach().clone(), torch.zeros(2, dtype=torch.float64)
    for _ in range(STEPS):
        parameter.grad = slope(parameter.detach())
        optimizer.step()
        v = momentum * v - RATE * slope(w + momentum * v)
        w = w + v
        assert_agrees("F04", parameter.detach(), w + momentum * v, tolerance=1e-9)
