"""Compiled code as it would be compiled on another processor that this one can stand in for."""

import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.ops.processor import processor
from regard.runtime import compiled as building

BUILDS = {"AVX2": ("-mavx2", "-mfma"), "any processor": ()}


def build_for(name: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ctypes.CDLL]:
    """Return what compiles a source for a row of `BUILDS`. Skips the test where that cannot be run."""
    if BUILDS[name] and not processor().has("avx2"):
        pytest.skip("this processor lacks AVX2")
    monkeypatch.setattr(building, "TRIES", (BUILDS[name],))

    def build(source: Path, mirrors: tuple[type[ctypes.Structure], ...] = ()) -> ctypes.CDLL:
        found = building.library.__wrapped__(source, mirrors)  # not the one of this process
        return found or pytest.skip("no compiler here")

    return build
