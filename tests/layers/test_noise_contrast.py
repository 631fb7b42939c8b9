"""Negative sampling by its formula, in both ways of computing it, with its gradient."""

import pytest
import torch
from torch import tensor
from torch.testing import assert_close

from regard.layers.noise_contrast import fused_contrast, may_fuse_contrast, noise_contrast, plain_contrast
from regard.ops.plain import plain

CONTEXTS, TARGETS = tensor([[2, -1, 0], [-1, -1, -1], [1, 1, 1]]), tensor([[0, 3, 3], [1, 2, 0], [4, 1, 0]])


def tables(dim: int, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    draws = torch.Generator().manual_seed(3)
    drawn = [torch.randn(rows, dim, generator=draws, dtype=torch.float64) for rows in (3, 5)]
    return [table.to(dtype).requires_grad_() for table in drawn]


def by_loops(inputs, outputs, contexts, targets, *, mean):
    """The formula, word by word."""
    losses = []
    for near, drawn in zip(contexts.tolist(), targets.tolist(), strict=True):
        read = [inputs[row] for row in near if row >= 0]
        read = [torch.stack(read).mean(dim=0)] if mean and read else read
        loss = inputs.new_zeros(())
        for vector in read:
            loss = loss - torch.sigmoid(outputs[drawn[0]] @ vector).log()
            for row in drawn[1:]:
                loss = loss - torch.sigmoid(-outputs[row] @ vector).log()
        losses.append(loss)
    return torch.stack(losses)


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("compute", [plain_contrast, fused_contrast])
def test_losses_and_gradients_are_those_of_the_formula(compute, mean, assert_agrees):
    weights, found = tensor([1.0, 2.0, -0.5]), []
    for one, dtype in ((by_loops, torch.float64), (compute, torch.float32)):
        inputs, outputs = tables(37, dtype)
        losses = one(inputs, outputs, CONTEXTS, TARGETS, mean=mean)
        (losses * weights.to(dtype)).sum().backward()
        found.append([losses.detach().double(), inputs.grad.double(), outputs.grad.double()])
    for mine, wanted in zip(found[1], found[0], strict=True):
        assert_agrees("E01", mine, wanted, tolerance=2e-5)


def test_steep_scores_stay_finite():
    inputs, outputs = tensor([[100.0]]).requires_grad_(), tensor([[-3.0], [3.0]]).requires_grad_()
    for compute in (plain_contrast, fused_contrast):
        loss = compute(inputs, outputs, tensor([[0]]), tensor([[0, 1]]), mean=False)
        loss.sum().backward()
        assert_close(loss, tensor([600.0]))
        assert_close(inputs.grad, tensor([[6.0]]))
        inputs.grad = None


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_change_sums_alone(threads):
    draws, before = torch.Generator().manual_seed(1), torch.get_num_threads()
    contexts, targets = (torch.randint(0, rows, (50, 4), generator=draws) for rows in (3, 5))
    found = []
    torch.set_num_threads(threads)
    try:
        for compute in (plain_contrast, fused_contrast):
            inputs, outputs = tables(20)
            compute(inputs, outputs, contexts, targets, mean=False).sum().backward()
            found.append((inputs.grad, outputs.grad))
    finally:
        torch.set_num_threads(before)
    for mine, wanted in zip(*found, strict=True):
        assert_close(mine, wanted, rtol=1e-4, atol=1e-4)


def test_plain_paths_and_other_numbers_take_the_plain_way(monkeypatch):
    monkeypatch.setattr("regard.layers.noise_contrast.fused_contrast", lambda *_, **__: pytest.fail("compiled"))
    double = tables(4, torch.float64)
    assert not may_fuse_contrast(*double, CONTEXTS, TARGETS)
    noise_contrast(*double, CONTEXTS, TARGETS, mean=False)
    with plain():
        noise_contrast(*tables(4), CONTEXTS, TARGETS, mean=False)
    wide = CONTEXTS[:, :1].expand(3, 65)
    assert not may_fuse_contrast(*tables(4), wide, TARGETS)
