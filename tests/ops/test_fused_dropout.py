"""Fused dropout draws and computes what its pieces do, forward and backward."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.layers.feedforwards.position_wise import PositionWise
from regard.ops import fused_dropout
from regard.ops.dropout import Dropout, dropout
from regard.ops.fused_dropout import add_dropped, relu_dropped
from regard.ops.plain import plain
from regard.runtime.compiled import library

SHAPE = (3, 5, 7)  # no whole number of vectors


def both(fused, pieces, *inputs: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Values and gradients of each with the same draws."""
    found = []
    for run in (fused, pieces):
        torch.manual_seed(3)
        outputs = run(*inputs)
        found.append([outputs, *torch.autograd.grad(outputs.sin().sum(), inputs)])
    return found[0], found[1]


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.9])
def test_residual_with_dropout_is_the_sum(probability):
    inputs = [torch.randn(SHAPE, requires_grad=True) for _ in range(2)]
    assert_close(
        *both(lambda a, b: add_dropped(a, b, Dropout(probability)), lambda a, b: a + dropout(b, probability), *inputs)
    )


@pytest.mark.parametrize("probability", [0.1, 0.5])
def test_relu_with_dropout_is_one_after_the_other(probability):
    hidden = torch.randn(SHAPE, requires_grad=True)
    assert_close(
        *both(lambda a: relu_dropped(a + 0, Dropout(probability)), lambda a: dropout(a.relu(), probability), hidden)
    )


@pytest.mark.parametrize("change", [None, "no compiler"])
def test_block_learns_the_same_fused_and_plain(change, monkeypatch):
    if change:
        monkeypatch.setattr(fused_dropout, "library", lambda source: None)
    layer, inputs = PositionWise(8, 24, dropout=0.3), torch.randn(4, 6, 8)

    def run() -> list[Tensor]:
        torch.manual_seed(5)
        outputs, _ = layer(inputs)
        return [outputs, *torch.autograd.grad(outputs.square().sum(), layer.parameters())]

    found = run()
    monkeypatch.setattr(fused_dropout, "_may_fuse", lambda *given: False)
    assert_close(found, run())


@pytest.mark.parametrize("training", [True, False])
def test_nothing_is_dropped_in_evaluation_or_at_zero(training):
    before, change = torch.randn(SHAPE), torch.randn(SHAPE, requires_grad=True)
    probability = 0.0 if training else 0.5
    assert_close(add_dropped(before, change, Dropout(probability).train(training)), before + change)
    assert_close(relu_dropped(change.clone(), Dropout(probability).train(training)), change.relu())


def test_plain_and_other_numbers_take_the_pieces(monkeypatch):
    compiled = []
    monkeypatch.setattr(fused_dropout, "_run", lambda name, *given: compiled.append(name))
    before, change = (torch.randn(SHAPE, requires_grad=True) for _ in range(2))
    with plain():
        add_dropped(before, change, Dropout(0.5))
        relu_dropped(change + 0, Dropout(0.5))
    add_dropped(before.double(), change.double(), Dropout(0.5))
    relu_dropped(change.bfloat16(), Dropout(0.5))
    assert compiled == []
    add_dropped(before, change, Dropout(0.5))
    assert compiled == ["add_dropped"] * (library(fused_dropout.DROPOUT_SOURCE) is not None)


def test_shapes_that_differ_are_broadcast():
    before, change = torch.zeros(2, 1, 4), torch.ones(2, 3, 4, requires_grad=True)
    assert add_dropped(before, change, Dropout(0.5)).shape == (2, 3, 4)
