"""The cache of compiled code: a file that was damaged is known, and made again."""

import ctypes
import io
import os
import shutil
import subprocess
import sys

import pytest

from regard.cli.app import report_compiling
from regard.runtime.compiled import LOG, library

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


def refused(source):
    """The warning with which no library is opened."""
    library.cache_clear()
    with pytest.warns(UserWarning) as warned:
        assert library(source) is None
    return str(warned[0].message)


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_that_others_may_write_is_refused(source, mode):
    folder = made(source).parent
    folder.chmod(mode)
    assert "may be written by other users" in refused(source)
    folder.chmod(0o700)
    folder.parent.chmod(0o777)
    assert "others may exchange" in refused(source)
    folder.parent.chmod(0o1777)  # as /tmp is
    made(source)


def test_a_folder_that_is_a_link_is_refused(source, tmp_path):
    folder = made(source).parent
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert "is a link" in refused(source)


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files to other users")
@pytest.mark.parametrize("whose", ["folder", "file"])
def test_what_another_user_owns_is_not_loaded(source, whose):
    path = made(source)
    planted = path.stat().st_ino
    os.chown(path.parent if whose == "folder" else path, 65534, 65534)
    if whose == "folder":
        assert "belongs to another user" in refused(source)
    else:
        assert made(source).stat().st_ino != planted


def test_a_pipe_a_link_and_a_shared_file_are_made_again(source):
    path = made(source)
    checksum = path.with_suffix(".sha256")
    checksum.unlink()
    os.mkfifo(checksum)  # to read it would wait for ever
    made(source)
    assert checksum.is_file()
    checksum.rename(checksum.with_suffix(".other"))
    checksum.symlink_to(checksum.with_suffix(".other"))
    made(source)
    assert not checksum.is_symlink()
    path.chmod(0o666)
    made(source)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_compiler_of_something_else_is_warned_of(source, tmp_path, monkeypatch):
    (tmp_path / "other.cpp").write_text('extern "C" int eight() { return 8; }\n')
    compiler = tmp_path / "compiler"
    compiler.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && exec c++ --version\nfor out; do :; done\n'
        f'exec c++ -shared -fPIC {tmp_path / "other.cpp"} -o "$out"\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    assert "lacks its functions" in refused(source)


def test_a_compiler_that_is_too_slow_is_warned_of(source, tmp_path, monkeypatch):
    compiler = tmp_path / "slow"
    compiler.write_text("#!/bin/sh\nexec sleep 60\n")
    compiler.chmod(0o700)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setattr("regard.runtime.compiled._SECONDS", 0.1)
    assert "needs more than 0.1 s, so slower code takes its place" in refused(source)


def test_a_compiler_with_an_open_quote_is_warned_of(source, monkeypatch):
    monkeypatch.setenv("CXX", "c++ '")
    assert "CXX: No closing quotation" in refused(source)


def test_two_first_compilations_at_once_come_out_right(source):
    code = "import sys, pathlib; from regard.runtime.compiled import library as make"
    code = f"{code}; print(make(pathlib.Path(sys.argv[1])).seven())"
    command = [sys.executable, "-c", code, str(source)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate(timeout=300)[0] for process in processes] == ["7\n", "7\n"]
    before = made(source).stat()
    assert made(source).stat() == before


class Pair(ctypes.Structure):
    _fields_ = (("first", ctypes.c_int64), ("second", ctypes.c_double))


class PairSwapped(ctypes.Structure):
    _fields_ = (("second", ctypes.c_double), ("first", ctypes.c_int64))


class PairShort(ctypes.Structure):
    _fields_ = (("first", ctypes.c_int32), ("second", ctypes.c_double))


class PairLong(ctypes.Structure):
    _fields_ = (*Pair._fields_, ("third", ctypes.c_int8))


class PairWide(ctypes.Structure):
    _fields_ = (("first", ctypes.c_int64), ("second", ctypes.c_double * 2))


@pytest.fixture
def pair(source):
    source.write_text(
        '#include "layout.h"\nstruct Pair { int64_t first; double second; };\nLAYOUT(Pair, first, second);\n'
    )
    return source


def test_a_mirror_like_its_struct_is_taken(pair):
    assert library(pair, (Pair,)) is not None


@pytest.mark.parametrize("fields", [PairSwapped, PairShort, PairLong, PairWide])
def test_a_mirror_unlike_its_struct_is_refused(pair, fields):
    mirror = type("PairStruct", (ctypes.Structure,), {"_fields_": fields._fields_})
    with pytest.warns(UserWarning, match="differ"):
        assert library(pair, (mirror,)) is None


def test_a_mirror_of_no_struct_is_refused(pair):
    with pytest.warns(UserWarning, match="no layout of PairSwapped"):
        assert library(pair, (PairSwapped,)) is None


@pytest.mark.parametrize(
    ("terminal", "words", "told"),
    [(True, ["train"], 1), (True, ["predict", "--json"], 0), (True, ["train", "-q"], 0), (False, ["train"], 0)],
)
def test_a_person_at_a_terminal_is_told_once_of_a_compilation(source, monkeypatch, terminal, words, told):
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(LOG, "handlers", [])
    report_compiling(words)
    made(source)
    made(source)
    assert stream.getvalue().count("compiling seven.cpp") == told


def test_a_machine_without_a_compiler_says_nothing_at_a_terminal(source, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(LOG, "handlers", [])
    monkeypatch.setenv("CXX", "no-such-compiler")
    report_compiling(["train"])
    assert (library(source), stream.getvalue()) == (None, "")
