"""The cache of compiled code: a file that was damaged is known, and made again."""

import ctypes
import shutil

import pytest

from regard.ops.kernels.library import library

pytestmark = pytest.mark.skipif(shutil.which("c++") is None, reason="no compiler here: nothing is compiled")


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CXX", raising=False)
    path = tmp_path / "seven.cpp"
    path.write_text('extern "C" int seven() { return 7; }\n', encoding="utf-8")
    yield path
    library.cache_clear()


def made(source):
    library.cache_clear()
    found = library(source)
    assert isinstance(found, ctypes.CDLL) and found.seven() == 7
    (path,) = source.parent.joinpath("cache").rglob("*.so")
    return path


@pytest.mark.parametrize("damage", [b"", b"junk", None])
def test_a_damaged_library_is_compiled_again(source, damage):
    path = made(source)
    whole = path.read_bytes()
    path.unlink()  # this process still has the old one in memory
    path.write_bytes(whole[:2000] if damage is None else damage)
    assert made(source).read_bytes() == whole


def test_a_library_that_is_whole_is_not_compiled_again(source):
    before = made(source).stat()
    assert made(source).stat() == before
