"""Products in bfloat16 round their factors, keep float32 around them, and are near torch's."""

from contextlib import nullcontext

import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close

from regard.ops import linear as products
from regard.ops.cross_entropy import LOSS_ROWS, LinearCrossEntropy
from regard.ops.dropout import Dropout
from regard.ops.fused_dropout import relu_dropped
from regard.ops.linear import Linear, half_products, linear
from regard.ops.plain import plain


def rounded(values: torch.Tensor) -> torch.Tensor:
    return values.bfloat16().double()


def test_factors_are_rounded_forward_and_backward():
    inputs, weight = torch.randn(5, 7, 32, requires_grad=True), torch.randn(16, 32, requires_grad=True)
    bias = torch.randn(16, requires_grad=True)
    with half_products():
        outputs = linear(inputs, weight, bias)
    upstream = torch.randn_like(outputs)
    found = [outputs, *torch.autograd.grad(outputs, (inputs, weight, bias), upstream)]
    assert {one.dtype for one in found} == {torch.float32}
    x, w, g = map(rounded, (inputs, weight, upstream))
    rows = g.flatten(0, 1)
    exact = [x @ w.t() + bias.double(), g @ w, rows.t() @ x.flatten(0, 1), upstream.double().sum(dim=(0, 1))]
    assert_close([one.double() for one in found], exact, rtol=1e-2, atol=1e-1)
    assert not torch.equal(outputs, functional.linear(inputs, weight, bias))


def test_queries_keys_and_values_share_the_rounded_states(monkeypatch):
    kept = []
    monkeypatch.setattr(
        products._HalfProduct, "apply", lambda inputs, weight, bias: kept.append(products._halved(inputs))
    )
    states, weight = torch.randn(3, 8), torch.randn(8, 8, requires_grad=True)
    with half_products():
        for _ in range(3):
            linear(states, weight)
        with torch.no_grad():
            states.add_(1.0)
        linear(states, weight)
        linear(states.clone(), weight)
    assert len({id(one) for one in kept}) == 3
    assert_close(kept[3], states.bfloat16())
    assert products._local.halved == (None, 0, None)


def test_the_loss_stays_exact_and_its_gradients_have_rounded_factors():
    count, dim, words = LOSS_ROWS + 3, 32, 50  # two chunks
    states, weight = torch.randn(count, dim, requires_grad=True), torch.randn(words, dim, requires_grad=True)
    targets, found = torch.randint(words, (count,)), []
    for half in (False, True):
        with half_products() if half else nullcontext():
            losses = LinearCrossEntropy.apply(states, weight, None, targets, 0.1)
        found.append([losses, *torch.autograd.grad(losses.sum(), (states, weight))])
    (exact, *slopes), (losses, *others) = found
    assert torch.equal(losses, exact)
    for other, slope in zip(others, slopes, strict=True):
        assert other.dtype == torch.float32 and not torch.equal(other, slope)
        assert float((other - slope).norm() / slope.norm()) < 2**-7  # bfloat16 has 8 bits


@pytest.mark.parametrize("other", ["no gradient", "plain", "float64", "outside"])
def test_other_products_stay_exact(other):
    module, inputs = Linear(32, 16), torch.randn(9, 32)
    if other == "float64":
        module, inputs = module.double(), inputs.double()
    wanted = functional.linear(inputs, module.weight, module.bias)
    if other == "outside":
        assert_close(module(inputs), wanted)
        return
    with half_products(), torch.set_grad_enabled(other != "no gradient"):
        if other == "plain":
            with plain():
                assert_close(module(inputs), wanted)
        else:
            assert_close(module(inputs), wanted)


def test_relu_keeps_what_passed():
    hidden, found = torch.randn(6, 10, requires_grad=True), []
    for half in (False, True):
        torch.manual_seed(1)
        products._local.half = half
        outputs = relu_dropped(hidden + 0, Dropout(0.3))
        products._local.half = False
        found.append([outputs, *torch.autograd.grad(outputs.sin().sum(), [hidden])])
    assert_close(*found)
