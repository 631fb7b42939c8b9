"""LazyAdam against torch.optim.SparseAdam and Adam; rows without a gradient stay as they are."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close

from regard.registry import Choice
from regard.training.optimizers import OPTIMIZERS

ROWS, DIM, RATE = 12, 3, 0.05
VISITS = [[1, 4, 4], [4, 7], [1, 1, 2], [9], [4, 2, 7, 7]]  # ids of each update; some twice


def built(parameters: list[nn.Parameter], **settings: object) -> torch.optim.Optimizer:
    optimizer = OPTIMIZERS.build(Choice("lazy_adam", settings), parameters)
    optimizer.param_groups[0]["lr"] = RATE
    return optimizer


def table() -> nn.Parameter:
    return nn.Parameter(torch.randn(ROWS, DIM, generator=torch.Generator().manual_seed(1), dtype=torch.float64))


def visit(parameter: Tensor, ids: list[int], *, sparse: bool) -> None:
    """A gradient of some rows: that of the sum of cubes."""
    parameter.grad = None
    functional.embedding(torch.tensor(ids, dtype=torch.int64), parameter, sparse=sparse).pow(3).sum().backward()


@pytest.mark.parametrize("sparse", [True, False])
def test_lazy_adam_equals_sparse_adam(sparse, assert_agrees):
    mine, theirs = table(), table()
    optimizer = built([mine])
    oracle = torch.optim.SparseAdam([theirs], lr=RATE)
    for ids in VISITS:
        visit(mine, ids, sparse=sparse)
        visit(theirs, ids, sparse=True)
        optimizer.step()
        oracle.step()
    assert_agrees("F02", mine.detach(), theirs.detach(), tolerance=1e-12)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_untouched_rows_keep_their_bits(sparse, weight_decay):
    parameter = table()
    optimizer = built([parameter], weight_decay=weight_decay)
    visit(parameter, [3, 5], sparse=sparse)
    optimizer.step()
    before, moments = parameter.detach().clone(), {k: v.clone() for k, v in optimizer.state[parameter].items()}
    visit(parameter, [5, 8], sparse=sparse)
    optimizer.step()
    others = [row for row in range(ROWS) if row not in {5, 8}]
    assert torch.equal(parameter[others], before[others])
    assert not torch.equal(parameter[[5, 8]], before[[5, 8]])
    for name in ("exp_avg", "exp_avg_sq"):
        assert torch.equal(optimizer.state[parameter][name][others], moments[name][others])


def test_no_touched_row_counts_no_step():
    parameter = table()
    optimizer, before = built([parameter]), parameter.detach().clone()
    visit(parameter, [], sparse=True)
    optimizer.step()
    assert torch.equal(parameter, before)
    assert not optimizer.state[parameter]


def test_weight_decay_shrinks_touched_rows_by_the_rate():
    plain, decayed, everywhere = table(), table(), table()
    start = plain.detach().clone()
    for parameter, settings in (
        (plain, {}),
        (decayed, {"weight_decay": 0.5}),
        (everywhere, {"weight_decay": 0.5, "decay_untouched": True}),
    ):
        visit(parameter, [2], sparse=True)
        built([parameter], **settings).step()
    assert_close(decayed - plain, torch.zeros(ROWS, DIM).double().index_put((torch.tensor(2),), -0.5 * RATE * start[2]))
    assert_close(everywhere - plain, -0.5 * RATE * start)


def test_dense_gradients_without_zeros_are_adam_with_a_scaled_eps():
    """Adam adds eps to √(v / (1 - β₂ᵗ)); here it is added to √v. With eps 0 both are one."""
    mine, theirs = table(), table()
    optimizer, oracle = built([mine], eps=0.0), torch.optim.Adam([theirs], lr=RATE, eps=0.0)
    for _ in VISITS:
        for parameter in (mine, theirs):
            parameter.grad = parameter.detach() ** 3 + 1
        optimizer.step()
        oracle.step()
    assert_close(mine, theirs, rtol=0, atol=1e-12)


def test_vectors_and_complex_tables_move_as_adam_moves_them():
    kinds = (torch.ones(4, dtype=torch.float64), torch.ones(2, 3, dtype=torch.complex128))
    for start in kinds:
        mine, theirs = nn.Parameter(start.clone()), nn.Parameter(start.clone())
        optimizer, oracle = built([mine], eps=0.0), torch.optim.Adam([theirs], lr=RATE, eps=0.0)
        for _ in range(3):
            for parameter in (mine, theirs):
                parameter.grad = parameter.detach() * (1 + 1j if start.is_complex() else 1)
            optimizer.step()
            oracle.step()
        assert_close(mine.detach(), theirs.detach(), rtol=0, atol=1e-12)
