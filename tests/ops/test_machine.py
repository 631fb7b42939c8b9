"""Who computes products is asked of the machine: flags, measurements, settings, and a cache that may be broken."""

import json

import pytest
import torch
from torch.testing import assert_close

from regard.errors import ConfigError
from regard.ops import linear as products
from regard.ops import machine
from regard.ops import timings as measuring
from regard.ops.plain import plain
from regard.ops.processor import processor
from regard.ops.timings import PRODUCT_KINDS, Timings
from regard.runtime.processor import Processor

AMD = Processor("AuthenticAMD", "Ryzen", frozenset({"avx2", "avx_vnni"}))
INTEL = Processor("GenuineIntel", "Xeon", frozenset({"avx2", "avx512f", "avx512_vnni", "amx_tile", "amx_bf16"}))
ARM = Processor("0x41", "Neoverse", frozenset({"asimd", "bf16", "i8mm"}))
LISTED = (
    "processor : 0\nvendor_id : GenuineIntel\nmodel name : Xeon\nflags : avx2 avx512f\n\nprocessor : 1\nflags : sse\n"
)


def timed(onednn: float, threads: dict[int, float] | None = None) -> Timings:
    """One millisecond for torch, so many for oneDNN."""
    kinds = {kind: {"torch": 1.0, "onednn": onednn} for kind in PRODUCT_KINDS}
    return Timings(threads or {1: 2.0, 2: 1.0}, {1: kinds, 2: kinds})


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(machine.VARIABLE, raising=False)
    machine.fix("auto")
    yield
    machine.fix("auto")


def keep(values: str) -> None:
    measuring.timings_file().parent.mkdir(parents=True, exist_ok=True)
    measuring.timings_file().write_text(values, encoding="utf-8")
    machine.onednn_kinds.cache_clear()


def test_features_follow_from_flags():
    assert [name for name, has in AMD.features.items() if has] == ["avx2", "int8"]
    assert [name for name, has in INTEL.features.items() if has] == ["avx2", "avx512", "int8", "bfloat16", "amx"]
    assert [name for name, has in ARM.features.items() if has] == ["bfloat16"]


def test_processor_is_the_first_that_is_listed(tmp_path):
    file = tmp_path / "cpuinfo"
    file.write_text(LISTED, encoding="utf-8")
    assert processor(file) == Processor("GenuineIntel", "Xeon", frozenset({"avx2", "avx512f"}))


def test_processor_without_a_list_has_what_torch_was_told(tmp_path):
    known = processor(tmp_path / "nothing")
    assert known.has("avx512") == (torch.backends.cpu.get_cpu_capability() == "AVX512")


def test_flags_decide_before_a_measurement():
    assert machine.by_flags(AMD) == set(PRODUCT_KINDS) - {"small"}
    assert not machine.by_flags(INTEL)
    assert not machine.by_flags(ARM)


@pytest.mark.parametrize(("onednn", "kinds"), [(0.5, set(PRODUCT_KINDS)), (0.99, set()), (2.0, set())])
def test_measured_kinds_go_to_the_faster(onednn, kinds):
    assert machine.picked(timed(onednn), 2) == kinds
    assert machine.picked(timed(onednn), 3) is None


def test_kept_timings_decide():
    keep(json.dumps(timed(0.5)._asdict()))
    assert all(machine.prefers_onednn(kind) for kind in PRODUCT_KINDS)
    keep(json.dumps(timed(2.0)._asdict()))
    assert not any(machine.prefers_onednn(kind) for kind in PRODUCT_KINDS)


@pytest.mark.parametrize("values", ["", "{", "[]", '{"threads": {}, "products": {}}', '{"threads": {"1": "x"}}'])
def test_broken_cache_is_measured_anew(values, monkeypatch):
    keep(values)
    assert measuring.kept_timings() is None
    monkeypatch.setattr(measuring, "measure", lambda: timed(0.25))
    assert measuring.timings() == timed(0.25) == measuring.kept_timings()


def test_timings_are_measured_once(monkeypatch):
    calls = iter([timed(0.25), timed(0.75)])
    monkeypatch.setattr(measuring, "measure", lambda: next(calls))
    assert measuring.timings() == measuring.timings() == timed(0.25)
    assert measuring.timings(again=True) == timed(0.75) == measuring.kept_timings()


def test_unwritable_cache_is_no_fault(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(measuring, "measure", lambda: timed(0.25))
    assert measuring.timings() == timed(0.25)


def test_measurement_leaves_threads_and_draws():
    before, draws = torch.get_num_threads(), torch.get_rng_state()
    found = measuring.measure()
    assert torch.get_num_threads() == before
    assert torch.equal(torch.get_rng_state(), draws)
    assert {1, before} == found.products.keys()
    assert all(ms > 0 for kinds in found.products.values() for by in kinds.values() for ms in by.values())


@pytest.mark.parametrize(
    ("threads", "best"),
    [({1: 2.0, 2: 1.0}, 2), ({1: 1.0, 2: 1.0}, 1), ({1: 1.1, 2: 1.0}, 1), ({1: 4.0, 4: 1.0, 8: 0.95}, 4)],
    ids=["two cores", "one core", "nearly one core", "four cores seen as eight"],
)
def test_fewest_fast_threads_are_best(threads, best):
    assert machine.best_threads(timed(1.0, threads), 8) == best


def test_threads_that_were_asked_for_stay(monkeypatch):
    taken = []
    monkeypatch.setattr(torch, "set_num_threads", taken.append)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    one_core = timed(1.0, {1: 1.0, 2: 1.0})
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    machine.choose_threads("auto", one_core)
    assert taken == []
    machine.choose_threads(3, one_core)
    assert taken == [3]
    monkeypatch.delenv("OMP_NUM_THREADS")
    machine.choose_threads("auto", one_core)
    assert taken == [3, 1]


def test_settings_and_environment_fix_the_choice(monkeypatch):
    keep(json.dumps(timed(0.5)._asdict()))
    monkeypatch.setenv(machine.VARIABLE, "torch")
    machine.fix("auto")
    assert not machine.prefers_onednn("large")
    assert machine.fix("onednn") == "auto"
    assert machine.prefers_onednn("large")
    assert machine.fix("auto") == "onednn"


def test_unknown_word_in_environment_is_an_error(monkeypatch):
    monkeypatch.setenv(machine.VARIABLE, "onedn")
    machine.fix("auto")
    with pytest.raises(ConfigError, match="did you mean 'onednn'"):
        machine.prefers_onednn("large")


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        ((1, 128, 128), "small"),
        ((64, 128, 512), "middle"),
        ((4096, 512, 512), "large"),
        ((512, 128, 9000), "vocabulary"),
    ],
)
def test_kinds_of_products(shape, kind):
    assert machine.kind_of(*shape) == kind


@pytest.mark.skipif(products._onednn is None, reason="torch without oneDNN")
def test_choice_reaches_products_and_not_plain(monkeypatch):
    called = []
    monkeypatch.setattr(products, "_product", lambda inputs, weight, bias: called.append(1) or inputs @ weight.t())
    inputs, weight = torch.randn(300, 128), torch.randn(256, 128)
    for fixed, times in (("onednn", 1), ("torch", 1), ("onednn", 2)):
        machine.fix(fixed)
        assert_close(products.linear(inputs, weight), inputs @ weight.t())
        assert len(called) == times
    with plain():
        products.linear(inputs, weight)
    assert len(called) == 2
