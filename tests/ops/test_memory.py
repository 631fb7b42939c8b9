"""Keeping freed memory is an offer: where the system has no such thing, nothing happens. Too little is recognised."""

import ctypes
import sys

import pytest
import torch

from regard.ops.memory import keep_memory, lacks_memory


def test_elsewhere_than_on_linux_nothing_is_done(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not keep_memory()


@pytest.mark.parametrize("fault", [OSError, AttributeError])
def test_a_library_that_knows_no_mallopt_is_left_alone(fault, monkeypatch):
    def none(name: object) -> None:
        raise fault

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(ctypes, "CDLL", none)
    assert not keep_memory()


def test_too_little_memory_is_told_from_other_faults():
    with pytest.raises(RuntimeError) as real:
        torch.empty(2**60, dtype=torch.uint8)
    short = [real.value, MemoryError(), torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("std::bad_alloc")]
    assert list(map(lacks_memory, short)) == [True] * 4
    with pytest.raises(RuntimeError) as shapes:
        torch.zeros(2) @ torch.zeros(3)
    assert not any(map(lacks_memory, (shapes.value, ValueError("out of memory"))))
