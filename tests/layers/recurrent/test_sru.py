"""Simple recurrent units: the three ways of computing them are one, and are the equations of the paper."""

import itertools
import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.layers.recurrent import Bidirectional, reverse
from regard.layers.recurrent.kernels import Parts, choose
from regard.layers.recurrent.kernels.choose import loop, scan
from regard.layers.recurrent.kernels.sru import SRU_SOURCE, Ended, fused
from regard.layers.recurrent.sru import SruLayer
from regard.ops.plain import plain
from regard.runtime.compiled import library

DIM, LENGTH = 5, 7
LENGTHS = [7, 3, 1, 0]
MASK = torch.arange(LENGTH) < torch.tensor(LENGTHS).unsqueeze(-1)
WAYS: dict[str, Callable[[Parts], Ended]] = {"scan": scan}
if library(SRU_SOURCE) is not None:  # where there is no compiler, there is nothing to prove of what it makes
    WAYS["fused"] = fused
CASES = [
    case
    for case in itertools.product(WAYS, [1, 2], [3, 4], [False, True], [False, True])
    if case[:2] != ("scan", 2)  # gates that see the state are not linear in it
]


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def parts(
    version: int, products: int, tanh: bool, masked: bool, *, dim: int = DIM, length: int = LENGTH, batch: int = 4
) -> Parts:
    """Random numbers for the recurrence, all of them asking for gradients."""
    tensors = [
        random(batch, length, products, dim),
        random(batch, length, dim),
        random(2, dim) if version == 2 else None,
        random(2, dim),
        random(batch, dim),
    ]
    leaves = [None if one is None else one.requires_grad_() for one in tensors]
    return Parts(*leaves, MASK if masked else None, 1.3, tanh)


def gradients(some: Parts, ended: Ended) -> list[Tensor]:
    """Of a sum that weighs each number differently."""
    total = sum((one * torch.linspace(-1, 2, one.numel(), dtype=one.dtype).view(one.shape)).sum() for one in ended)
    wanted = [one for one in (some.products, some.peepholes, some.biases, some.start) if one is not None]
    return list(torch.autograd.grad(total, wanted + ([some.inputs] if some.products.shape[2] == 3 else [])))


def by_hand(layer: SruLayer, inputs: Tensor, c: Tensor, version: int) -> tuple[list[Tensor], Tensor]:
    """One row, number by number, from equations 3 to 7 of the paper (gates of version 1 do not see c)."""
    w = layer.weight.split(layer.dim)
    b_f, b_r = layer.biases
    v_f, v_r = layer.peepholes if version == 2 else torch.zeros_like(layer.biases)
    shown = []
    for x in inputs:
        f = 1 / (1 + torch.exp(-(w[1] @ x + v_f * c + b_f)))
        r = 1 / (1 + torch.exp(-(w[2] @ x + v_r * c + b_r)))
        c = f * c + (1 - f) * (w[0] @ x)
        g = torch.tanh(c) if layer.tanh else c
        shown.append(r * g + (1 - r) * layer.scale * (x if len(w) == 3 else w[3] @ x))
    return shown, c


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("activation", ["identity", "tanh"])
@pytest.mark.parametrize("input_dim", [DIM, 3])
@pytest.mark.parametrize("slow", [False, True], ids=["as chosen", "plain"])
def test_equals_the_equations_row_by_row(version, activation, input_dim, slow, assert_agrees):
    layer = SruLayer(input_dim, DIM, version=version, activation=activation, highway_bias=-1.5).double()
    inputs, past, entry = random(4, LENGTH, input_dim), (random(4, DIM), random(4, DIM)), f"B0{5 + version}"
    if slow:
        with plain():
            outputs, (h, c) = layer(inputs, MASK, past)
    else:
        outputs, (h, c) = layer(inputs, MASK, past)
    for row, length in enumerate(LENGTHS):
        shown, end = by_hand(layer, inputs[row, :length], past[1][row], version)
        assert_agrees(entry, outputs[row, :length], torch.stack(shown) if shown else outputs[row, :0], 1e-12)
        for mine, oracle in ((h, shown[-1] if shown else past[0][row]), (c, end)):
            assert_agrees(entry, mine[row], oracle, 1e-12)
        assert bool((outputs[row, length:] == 0).all())


@pytest.mark.parametrize(("way", "version", "products", "tanh", "masked"), CASES)
def test_every_way_equals_the_loop_in_values_and_gradients(way, version, products, tanh, masked, assert_agrees):
    some = parts(version, products, tanh, masked, dim=70)  # more than one block of features, and a part of one
    wanted, seen = loop(some), WAYS[way](some)
    for mine, oracle in zip(seen, wanted, strict=True):
        assert_agrees("B08", mine, oracle, 1e-12)
    for mine, oracle in zip(gradients(some, seen), gradients(some, wanted), strict=True):
        assert_agrees("B08", mine, oracle, 1e-12)


@pytest.mark.parametrize(("way", "version"), [(way, version) for way, version, *_ in CASES[::8]])
def test_gradients_are_those_of_finite_differences(way, version):
    some = parts(version, 3, True, True)
    given = [one for one in some[:5] if one is not None]

    def run(*tensors: Tensor) -> tuple[Tensor, ...]:
        products, inputs, *rest = tensors
        peepholes = rest.pop(0) if version == 2 else None
        return tuple(
            WAYS[way](
                some._replace(products=products, inputs=inputs, peepholes=peepholes, biases=rest[0], start=rest[1])
            )
        )

    assert torch.autograd.gradcheck(run, given)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("batch", "length"), [(2, 0), (0, 3), (1, 1), (3, 2)])
def test_no_steps_no_rows_and_one_of_each(way, batch, length, assert_agrees):
    some = parts(1, 3, False, False, batch=batch, length=length)
    for mine, oracle in zip(WAYS[way](some), loop(some), strict=True):
        assert_agrees("B08", mine, oracle, 1e-12)


@pytest.mark.parametrize("way", WAYS)
def test_large_and_tiny_numbers_stay_what_they_are(way, assert_agrees):
    """Decays of nearly 0 and nearly 1 over a long text: nothing is divided, so nothing overflows."""
    some = parts(1, 3, True, False, length=300)
    big = some._replace(products=(some.products * 400).detach().requires_grad_())
    ended = WAYS[way](big)
    for mine, oracle in zip(ended, loop(big), strict=True):
        assert_agrees("B08", mine, oracle, 1e-7)
    assert all(bool(one.isfinite().all()) for one in gradients(big, ended))


@pytest.mark.parametrize("way", WAYS)
def test_nan_is_shown_and_not_hidden(way):
    some = parts(1, 3, False, False)
    products = some.products.detach().clone()
    products[1, 2, 1, 0] = math.nan
    outputs = WAYS[way](some._replace(products=products)).outputs
    assert bool(outputs[1, 2:, 0].isnan().all()) and int(outputs.isnan().sum()) == LENGTH - 2


@pytest.mark.parametrize(("way", "version"), [(way, version) for way, version, *_ in CASES[::8]])
def test_single_precision_stays_near(way, version):
    some = parts(version, 4, True, True)
    singles = [one.float() if isinstance(one, Tensor) and one.dtype == torch.float64 else one for one in some]
    for near, exact in zip(WAYS[way](Parts(*singles)), loop(some), strict=True):
        assert near.dtype == torch.float32
        assert_close(near.double(), exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("version", [1, 2])
def test_half_precision_is_summed_up_in_single(version):
    layer, inputs = SruLayer(DIM, DIM, version=version), torch.randn(4, 40, DIM)
    exact, _ = layer(inputs, None)
    with torch.autocast("cpu", torch.bfloat16):
        near, (h, c) = layer(inputs, None)
    assert near.dtype == h.dtype == torch.bfloat16 and c.dtype == torch.float32
    assert_close(near.float(), exact, rtol=0.03, atol=0.03)


@pytest.mark.parametrize("version", [1, 2])
def test_compiled_by_torch_equals_eager(version):
    layer, inputs = SruLayer(DIM, DIM, version=version).double(), random(4, LENGTH, DIM).requires_grad_()
    compiled_layer = torch.compile(layer, backend="aot_eager")
    seen, wanted = (one(inputs, MASK)[0] for one in (compiled_layer, layer))
    assert_close(seen, wanted)
    assert_close(*(torch.autograd.grad(one.square().sum(), inputs)[0] for one in (seen, wanted)))


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_change_nothing(threads, assert_agrees):
    some, before = parts(2, 3, False, True, dim=130), torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for mine, oracle in zip(choose.recurrence(some), loop(some), strict=True):
            assert_agrees("B08", mine, oracle, 1e-12)
    finally:
        torch.set_num_threads(before)


def test_version_two_without_peepholes_and_scale_is_version_one(assert_agrees):
    first, second = SruLayer(DIM, DIM, version=1).double(), SruLayer(DIM, DIM, version=2).double()
    second.load_state_dict({**first.state_dict(), "peepholes": torch.zeros(2, DIM)})
    second.scale = 1.0
    inputs = random(4, LENGTH, DIM)
    (outputs, past), (wanted, end) = second(inputs, MASK), first(inputs, MASK)
    for mine, oracle in zip((outputs, *past), (wanted, *end), strict=True):
        assert_agrees("B07", mine, oracle, 1e-12)


@pytest.mark.parametrize("bias", [0.0, -3.0])
def test_the_scale_of_the_highway_follows_its_bias(bias):
    layer = SruLayer(DIM, DIM, highway_bias=bias)
    assert layer.scale == pytest.approx(math.sqrt(1 + 2 * math.exp(bias)))
    assert layer.biases.tolist() == [[0.0] * DIM, [bias] * DIM]
    assert layer.weight.abs().max().item() <= math.sqrt(3 / DIM)


def test_one_product_for_all_gates_and_steps(monkeypatch):
    calls = []
    real = torch.nn.functional.linear
    monkeypatch.setattr(torch.nn.functional, "linear", lambda *given: calls.append(given[1].shape) or real(*given))
    SruLayer(3, DIM).double()(random(2, LENGTH, 3), None)
    assert calls == [(4 * DIM, 3)]


def test_both_directions_are_two_units(assert_agrees):
    layer = Bidirectional(SruLayer(3, DIM), SruLayer(3, DIM)).double()
    inputs = random(4, LENGTH, 3)
    outputs, (h, _) = layer(inputs, MASK)
    back = reverse(layer.backwards(reverse(inputs, MASK), MASK)[0], MASK)
    assert_agrees("B04", outputs, torch.cat([layer.forwards(inputs, MASK)[0], back], dim=-1), 1e-12)
    assert_agrees("B04", h[0], torch.cat([outputs[0, -1, :DIM], outputs[0, 0, DIM:]]), 1e-12)


def test_second_derivatives_are_there_without_fast_paths():
    some = parts(2, 3, True, False, length=3, batch=2)

    def run(products: Tensor) -> Tensor:
        with plain():
            return choose.recurrence(some._replace(products=products)).outputs

    assert torch.autograd.gradgradcheck(run, some.products)


def test_without_a_compiler_everything_is_the_same(monkeypatch, tmp_path):
    inputs, layers = random(4, LENGTH, DIM), [SruLayer(DIM, DIM, version=version).double() for version in (1, 2)]
    wanted = [layer(inputs, MASK)[0] for layer in layers]
    monkeypatch.setenv("CXX", str(tmp_path / "no-such-compiler"))
    library.cache_clear()
    try:
        assert library(SRU_SOURCE) is None
        assert_close([layer(inputs, MASK)[0] for layer in layers], wanted)
    finally:
        monkeypatch.undo()
        library.cache_clear()


def test_a_compiler_that_fails_leaves_nothing_behind(monkeypatch, tmp_path):
    compiler = tmp_path / "compiler"
    compiler.write_text('#!/bin/sh\n[ "$1" = --version ] || { echo no >&2; exit 1; }\n', encoding="utf-8")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    library.cache_clear()
    try:
        assert library(SRU_SOURCE) is None
        assert list(Path(tmp_path / "cache").rglob("*.so")) == []
    finally:
        monkeypatch.undo()
        library.cache_clear()
