"""Faults for tests/mutants.py: the same for a seed, known without formatting, and marks change nothing."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from faults import all_sites, applied, draw, find, marked

MODULE = """
def mean(values, weights, *, mask):
    total = 0
    for value, weight in zip(values, weights):
        if not mask and weight > 0:
            total = total + value * weight
    return divide(total, weights)

def divide(total, weights):
    return total / sum(weights[:2])
"""
OTHER = MODULE.replace("total + value * weight", "(total\n        +  value*weight)").replace(
    "weights[:2]", "weights[ : 2 ]"
)


@pytest.fixture
def tree(tmp_path):
    for room in ("first", "second"):
        (tmp_path / "regard" / room).mkdir(parents=True)
        (tmp_path / "regard" / room / "part.py").write_text(MODULE.replace("mean", f"mean_{room}"), encoding="utf-8")
    return tmp_path


def module(folder: Path, text: bytes) -> ModuleType:
    (folder / "made.py").write_bytes(text)
    spec = spec_from_file_location("made", folder / "made.py")
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_each_kind_of_fault_is_found(tree):
    found = [(site.fault.kind, site.fault.before, site.fault.after) for site in all_sites(tree)][:6]
    assert found == [
        ("mask", "not mask", "mask"),
        ("bound", "weight > 0", "weight >= 0"),
        ("sign", "total + value * weight", "total - value * weight"),
        ("swapped names", "divide(total, weights)", "divide(weights, total)"),
        ("off by one", "2", "3"),
        ("mask", "not mask", "mask"),
    ]


def test_a_seed_draws_the_same_from_every_room(tree):
    assert draw(tree, 4, 1) == draw(tree, 4, 1)
    assert any(draw(tree, 4, seed) != draw(tree, 4, 1) for seed in range(2, 9))
    assert [fault.room for fault in draw(tree, 4, 1)] == ["first", "second"] * 2


def test_formatting_does_not_matter(tree):
    faults = draw(tree, 10, 1)
    path = tree / "regard" / "first" / "part.py"
    path.write_text(OTHER.replace("mean", "mean_first"), encoding="utf-8")
    assert find(tree, faults).keys() == set(faults)


def test_marks_change_nothing_and_tell_what_is_computed(tree, monkeypatch):
    computed = []
    monkeypatch.setitem(sys.modules, "marks", SimpleNamespace(hit=computed.append))
    sites = {number: site for number, site in enumerate(all_sites(tree)[:5]) if number != 2}  # which holds another one
    made = module(tree, marked((tree / "regard" / "first" / "part.py").read_bytes(), sites))
    assert made.mean_first([1.0, 3.0], [1.0, 1.0], mask=False) == 2.0
    assert set(computed) == {0, 1, 3, 4}
    computed.clear()
    assert made.mean_first([1.0, 3.0], [1.0, 1.0], mask=True) == 0.0
    assert set(computed) == {0, 3, 4}


@pytest.mark.parametrize(("number", "wanted"), [(0, 0.0), (2, -2.0)])
def test_a_fault_changes_what_comes_out(number, wanted, tree):
    made = module(tree, applied((tree / "regard" / "first" / "part.py").read_bytes(), all_sites(tree)[number]))
    assert made.mean_first([1.0, 3.0], [1.0, 1.0], mask=False) == wanted
