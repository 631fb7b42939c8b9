"""Private doors of libraries are still open in the versions that are installed."""

import pytest
import torch
import typer
from torch import nn
from torch.testing import assert_close
from uvicorn import Config

from regard import compat


def test_onednn_multiplies_as_torch_does():
    product = compat.onednn_linear()
    if product is None:
        pytest.fail("this torch has no oneDNN product: every layer falls back to the slower BLAS")
    inputs, weight, bias = torch.randn(7, 5), torch.randn(3, 5), torch.randn(3)
    assert_close(product(inputs, weight, bias), nn.functional.linear(inputs, weight, bias))


def test_functorch_is_noticed():
    seen = []
    torch.func.vmap(lambda row: seen.append(compat.functorch_is_active()) or row)(torch.ones(2))
    assert seen == [True]
    assert not compat.functorch_is_active()


@pytest.mark.parametrize("ids", [[1, 3, 4], [4, 1, 4], []])
def test_sparse_gradients_are_coalesced(ids):
    table = nn.Parameter(torch.randn(6, 2))
    nn.functional.embedding(torch.tensor(ids, dtype=torch.int64), table, sparse=True).pow(2).sum().backward()
    found = compat.coalesced(table.grad)
    assert found.is_coalesced()
    assert found.indices()[0].tolist() == sorted(set(ids))
    assert_close(found.to_dense(), table.grad.to_dense())
    found.values().mul_(2)
    often = torch.tensor([ids.count(row) for row in range(6)])
    assert_close(found.to_dense(), 4 * table.detach() * often[:, None])


def test_all_tensors_are_multiplied_in_place():
    tensors = [torch.ones(2), torch.full((1,), 3.0)]
    compat.multiply_all(tensors, 2.0)
    assert [one.tolist() for one in tensors] == [[2.0, 2.0], [6.0]]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch.compile loads torch.jit
def test_a_compiled_module_is_unwrapped():
    module = nn.Linear(2, 2)
    assert compat.uncompiled(torch.compile(module)) is module
    assert compat.uncompiled(module) is module


def test_every_misuse_of_a_command_line_is_a_usage_error():
    assert issubclass(typer.BadParameter, compat.usage_error())
    assert compat.usage_error().__name__ == "UsageError"


def test_uvicorn_takes_a_protocol_class():
    protocol = compat.http_protocol()
    assert Config(app=lambda: None, http=protocol).http is protocol
    assert {"connection_made", "data_received", "on_message_begin"} <= set(dir(protocol))
