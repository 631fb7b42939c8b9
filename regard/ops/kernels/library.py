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

import torch

SECONDS = 120  # a compiler that takes longer is given up
FLAGS = ("-O3", "-std=c++17", "-fPIC", "-shared", "-fno-math-errno", "-fno-trapping-math")
TRIES = (("-march=native", "-fopenmp"), ("-march=native",), ())  # the first that compiles

_log = logging.getLogger(__name__)


@functools.cache
def library(source: Path) -> ctypes.CDLL | None:
    """The compiled source, or None where there is no compiler (the variable CXX, or c++) or no place to keep it.

    Killed half-way, or compiled by several processes at once, the file in the cache is whole or not there.
    """
    compiler = shlex.split(os.environ.get("CXX") or "c++")
    try:
        path = _kept(source, compiler)
        if not path.exists():
            _compile(source, compiler, path)
        return ctypes.CDLL(str(path))
    except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:  # no home folder, no such words
        _log.info("%s is not compiled: %s; slower code takes its place", source.name, error)
        return None


def _kept(source: Path, compiler: list[str]) -> Path:
    """A file of its own for each source with the headers beside it, compiler and processor."""
    told = subprocess.run([*compiler, "--version"], capture_output=True, check=True, timeout=SECONDS).stdout
    machine = f"{platform.node()} {platform.machine()} {torch.backends.cpu.get_cpu_capability()} {FLAGS} {TRIES}"
    read = b"".join(one.read_bytes() for one in [source, *sorted(source.parent.glob("*.h"))])
    key = hashlib.sha256(read + told + machine.encode()).hexdigest()[:16]
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "regard"
    return folder / f"{source.stem}-{key}.so"


def _compile(source: Path, compiler: list[str], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        made = Path(folder) / path.name
        for more in TRIES:
            command = [*compiler, *FLAGS, *more, str(source), "-o", str(made)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
            if done.returncode == 0:
                os.replace(made, path)
                return
        raise OSError(f"{shlex.join(compiler)}: {done.stderr.strip()[:500]}")
