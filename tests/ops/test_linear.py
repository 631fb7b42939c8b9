"""Products with weights equal torch's, whoever computes them."""

import subprocess
import sys

import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close

from regard.ops import machine
from regard.ops.linear import Linear, linear, summed

SHAPES = [(700, 32, 128), (20, 40, 16, 256), (300, 128, 64)]  # rows …, in_dim, out_dim


@pytest.fixture(autouse=True, params=["onednn", "torch"])
def by(request):
    machine.fix(request.param)
    yield
    machine.fix("auto")


def drawn(shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, ...]:
    *rows, in_dim, out_dim = shape
    inputs, weight = torch.randn(*rows, in_dim, dtype=dtype), torch.randn(out_dim, in_dim, dtype=dtype)
    return inputs.requires_grad_(), weight.requires_grad_(), torch.randn(out_dim, dtype=dtype).requires_grad_()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("with_bias", [True, False])
def test_values_and_gradients_equal_torch(shape, with_bias):
    inputs, weight, bias = drawn(shape)
    given = (inputs, weight, bias) if with_bias else (inputs, weight)

    def run(product):
        outputs = product(*given)
        return [outputs, *torch.autograd.grad(outputs.sin().sum(), given)]

    exact = [one.double() for one in run(functional.linear)]
    assert_close([one.double() for one in run(linear)], exact, rtol=1e-5, atol=1e-3)
    with torch.no_grad():
        assert_close(linear(*given), functional.linear(*given), rtol=1e-5, atol=1e-4)


def test_gradients_have_gradients():
    inputs, weight, bias = drawn((400, 64, 128))

    def run(product):
        (first,) = torch.autograd.grad(product(inputs, weight, bias).sin().sum(), inputs, create_graph=True)
        return torch.autograd.grad(first.square().sum(), (inputs, weight))

    assert_close(run(linear), run(functional.linear), rtol=1e-3, atol=1e-1)


@pytest.mark.parametrize("sides", [(16, 500), (500, 16), (64, 64)], ids=str)
def test_a_sum_over_rows_is_a_product(sides):
    first, second = (torch.randn(600, side) for side in sides)
    assert_close(summed(first, second), (first.double().t() @ second.double()).float(), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_numbers_are_left_to_torch(dtype):
    inputs, weight, bias = drawn((700, 32, 128), dtype)
    assert torch.equal(linear(inputs, weight, bias), functional.linear(inputs, weight, bias))


def test_autocast_is_left_to_torch():
    inputs, weight, bias = drawn((700, 32, 128))
    with torch.autocast("cpu", torch.bfloat16):
        assert linear(inputs, weight, bias).dtype == torch.bfloat16


GROWS = """
import random, torch
from regard.ops.linear import linear
def held(): return int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20
weight, inputs, start = torch.randn(128, 128), torch.randn(4096, 128), held()
for _ in range(1500):
    linear(inputs[: random.randint(1000, 4096)], weight)
print(held() - start)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="tells its memory by /proc")
def test_products_of_many_shapes_do_not_fill_the_memory():
    told = subprocess.run([sys.executable, "-c", GROWS], capture_output=True, text=True, check=True).stdout
    assert float(told) < 300  # megabytes; 800 and growing where each shape is kept


def test_a_compiled_graph_holds_one_plain_product():
    module = Linear(64, 256)
    inputs = torch.randn(300, 64)
    compiled = torch.compile(module, backend="eager", fullgraph=True)
    assert torch.equal(compiled(inputs), functional.linear(inputs, module.weight, module.bias))
