"""Dropout: its mean, its gradient, where it draws from."""

import pytest
import torch
from torch.testing import assert_close

from regard.ops.dropout import dropout


def test_dropout_keeps_the_mean_and_scales_what_is_kept():
    inputs = torch.ones(400, 500, requires_grad=True)
    outputs = dropout(inputs, 0.25)
    kept = outputs != 0
    assert outputs[kept].unique().tolist() == [pytest.approx(4 / 3)]
    assert kept.float().mean().item() == pytest.approx(0.75, abs=0.005)
    outputs.sum().backward()
    assert_close(inputs.grad, outputs.detach())


def test_dropout_draws_from_the_generator_that_a_checkpoint_saves():
    state = torch.get_rng_state()
    first = dropout(torch.ones(99), 0.5)
    torch.set_rng_state(state)
    assert_close(first, dropout(torch.ones(99), 0.5))


def test_dropout_is_nothing_in_evaluation():
    inputs = torch.randn(5)
    assert dropout(inputs, 0.5, training=False) is inputs
