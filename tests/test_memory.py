"""Keeping freed memory is an offer: where the system has no such thing, nothing happens."""

import ctypes
import sys

import pytest

from regard.memory import keep_memory


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
