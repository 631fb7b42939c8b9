"""C++ that is compiled on the machine it runs on, once: the library is kept in the user's cache."""

import ctypes
import functools
import hashlib
import logging
import os
import platform
import shlex
import subprocess
import tempfile
from pathlib import Path

from regard.ops.processor import processor
from regard.ops.user_cache import cache_folder

SECONDS = 120  # a compiler that takes longer is given up
FLAGS = ("-O3", "-std=c++17", "-fPIC", "-shared", "-fno-math-errno", "-fno-trapping-math")
TRIES = (("-march=native", "-fopenmp"), ("-march=native",), ())  # the first that compiles

_log = logging.getLogger(__name__)


@functools.cache
def library(source: Path) -> ctypes.CDLL | None:
    """Return the compiled source; None where there is no compiler (the variable CXX, or c++) or no place to keep it.

    Killed half-way, or compiled by several processes at once, the file in the cache is whole or not there. One that was
    damaged later is known by its checksum, which stands beside it, and compiled again.
    """
    compiler = shlex.split(os.environ.get("CXX") or "c++")
    try:
        path = _file_of(source, compiler)
        if not _is_whole(path):
            _compile(source, compiler, path)
        return ctypes.CDLL(str(path))
    except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:  # no home folder, no such words
        _log.info("%s is not compiled: %s; slower code takes its place", source.name, error)
        return None


def _file_of(source: Path, compiler: list[str]) -> Path:
    """Return a file for each source with the headers beside it, compiler and processor.

    A container keeps its name and its cache where it moves to a processor that lacks an instruction.
    """
    version = subprocess.run([*compiler, "--version"], capture_output=True, check=True, timeout=SECONDS).stdout
    known = processor()
    machine = f"{platform.node()} {platform.machine()} {known.model} {sorted(known.flags)} {FLAGS} {TRIES}"
    read = b"".join(one.read_bytes() for one in [source, *sorted(source.parent.glob("*.h"))])
    key = hashlib.sha256(read + version + machine.encode()).hexdigest()[:16]
    return cache_folder() / f"{source.stem}-{key}.so"


def _is_whole(path: Path) -> bool:
    """Whether a library is there as it was compiled: who loads one that was cut off dies of a bus error."""
    try:
        return _checksum_of(path).read_text(encoding="ascii") == hashlib.sha256(path.read_bytes()).hexdigest()
    except (OSError, ValueError):
        return False


def _checksum_of(path: Path) -> Path:
    return path.with_suffix(".sha256")


def _compile(source: Path, compiler: list[str], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        made = Path(folder) / path.name
        for more in TRIES:
            command = [*compiler, *FLAGS, *more, str(source), "-o", str(made)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
            if done.returncode == 0:
                checksum = Path(folder) / "checksum"
                checksum.write_text(hashlib.sha256(made.read_bytes()).hexdigest(), encoding="ascii")
                os.replace(made, path)
                os.replace(checksum, _checksum_of(path))
                return
        raise OSError(f"{shlex.join(compiler)}: {done.stderr.strip()[:500]}")
