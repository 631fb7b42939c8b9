"""C++ that is compiled on the machine it runs on, once: the library is kept in the user's cache.

The engine without torch is one of these sources, so that both read one library.
"""

import ctypes
import functools
import hashlib
import logging
import os
import platform
import shlex
import subprocess
import warnings
from pathlib import Path

from .processor import system_processor
from .user_cache import CacheRefused, cache_folder, made_folder, read_own

_SECONDS = 120  # a compiler that takes longer is given up
KERNELS = Path(__file__).parents[1] / "ops" / "kernels"  # sources that several folders use, and headers
FLAGS = ("-O3", "-std=c++17", "-fPIC", "-shared", "-fno-math-errno", "-fno-trapping-math")
TRIES = (("-march=native", "-fopenmp"), ("-march=native",), ())  # the first that compiles

LOG = logging.getLogger("regard.compiling")  # of code that is compiled at its first use


class _Field(ctypes.Structure):
    """`Field` of layout.h."""

    _fields_ = (("name", ctypes.c_char_p), ("place", ctypes.c_int64), ("size", ctypes.c_int64))


def log_compiling(level: int = logging.INFO) -> None:
    """Log to stderr when code is compiled, which takes seconds; at the level DEBUG also why it is not."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("regard: %(message)s"))
    LOG.addHandler(handler)
    LOG.setLevel(level)
    LOG.propagate = False


@functools.cache
def library(source: Path, mirrors: tuple[type[ctypes.Structure], ...] = ()) -> ctypes.CDLL | None:
    """Return the compiled source; None where there is no compiler (the variable CXX, or c++) or no place to keep it.

    `mirrors` are structs of the source as Python has them, named like them: `Past` is mirrored by `PastStruct` or
    `_Past`. One of another size, or with other fields, is warned of, and the library is not used.

    Killed half-way, or compiled by several processes at once, the file in the cache is whole or not there. One that was
    damaged later is known by its checksum, which stands beside it, and compiled again. A cache that another user may
    write to is refused with a warning, as is a compiler that is too slow, or whose library is none of this source.
    """
    try:
        compiler = shlex.split(os.environ.get("CXX") or "c++")
    except ValueError as error:
        warnings.warn(f"CXX: {error}, so slower code takes the place of compiled code", stacklevel=1)
        return None
    try:
        made_folder()
        path = _file_of(source, compiler)
        if not _is_whole(path):
            _compile(source, compiler, path)
            if not _is_whole(path):
                raise CacheRefused(f"{shlex.join(compiler)} made a library of {source.name} that lacks its functions")
        found = ctypes.CDLL(str(path))
    except CacheRefused as error:
        warnings.warn(f"{error}; slower code takes the place of compiled code", stacklevel=1)
        return None
    except subprocess.TimeoutExpired:
        problem = f"{source.name} is not compiled: {shlex.join(compiler)} needs more than {_SECONDS} s"
        warnings.warn(f"{problem}, so slower code takes its place; the next start tries again", stacklevel=1)
        return None
    except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:  # no home folder, no such words
        LOG.debug("%s is not compiled: %s; slower code takes its place", source.name, error)
        return None
    for mirror in mirrors:
        if fault := _layout_fault(found, mirror):
            problem = f"{source.name} and its Python mirror {mirror.__name__} differ: {fault}"
            warnings.warn(f"{problem}; slower code takes the place of compiled code", stacklevel=1)
            return None
    return found


def _layout_fault(code: ctypes.CDLL, mirror: type[ctypes.Structure]) -> str:
    """Say where a struct of compiled code and its mirror differ; "" where they are alike."""
    name = mirror.__name__.strip("_").removesuffix("Struct")
    try:
        fields = ctypes.cast(ctypes.addressof(_Field.in_dll(code, f"layout_{name}")), ctypes.POINTER(_Field))
    except ValueError:
        return f"there is no layout of {name}"
    known, place = dict[str, tuple[int, int]](), 0
    while fields[place].name is not None:
        known[fields[place].name.decode()] = fields[place].place, fields[place].size
        place += 1
    mirrored = {"": (0, ctypes.sizeof(mirror))}
    for field, *_ in mirror._fields_:
        mirrored[field] = getattr(mirror, field).offset, getattr(mirror, field).size
    return "" if [*mirrored.items()] == [*known.items()] else f"places and sizes are {known}, not {mirrored}"


def _mark_of(path: Path) -> str:
    """The name of the function by which a library is known."""
    return "regard_" + path.stem.replace("-", "_")


def _file_of(source: Path, compiler: list[str]) -> Path:
    """Return a file for each source with all headers, compiler and processor.

    A container keeps its name and its cache where it moves to a processor that lacks an instruction.
    """
    version = subprocess.run([*compiler, "--version"], capture_output=True, check=True, timeout=_SECONDS).stdout
    known = system_processor()
    machine = f"{platform.node()} {platform.machine()} {known.model} {sorted(known.flags)} {FLAGS} {TRIES}"
    read = b"".join(one.read_bytes() for one in [source, *sorted(KERNELS.glob("*.h"))])
    key = hashlib.sha256(read + version + machine.encode()).hexdigest()[:16]
    return cache_folder() / f"{source.stem}-{key}.so"


def _is_whole(path: Path) -> bool:
    """Return whether a library is complete: loading a truncated one ends the process with a bus error.

    Its function is named after source, compiler and processor; another name means another library.
    """
    try:
        checksum, content = read_own(_checksum_of(path)).decode("ascii"), read_own(path)
        return checksum == hashlib.sha256(content).hexdigest() and _mark_of(path).encode() in content
    except (OSError, ValueError):
        return False


def _checksum_of(path: Path) -> Path:
    return path.with_suffix(".sha256")


def _compile(source: Path, compiler: list[str], path: Path) -> None:
    import tempfile  # slow to import, and rarely needed

    LOG.info("compiling %s for this processor, once (seconds)", source.name)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        made, mark = Path(folder) / path.name, Path(folder) / "mark.cpp"
        mark.write_text(f'extern "C" void {_mark_of(path)}() {{}}\n', encoding="ascii")
        for more in TRIES:
            command = [*compiler, *FLAGS, *more, f"-I{KERNELS}", str(source), str(mark), "-o", str(made)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
            if done.returncode == 0:
                checksum = Path(folder) / "checksum"
                checksum.write_text(hashlib.sha256(made.read_bytes()).hexdigest(), encoding="ascii")
                for one in (made, checksum):
                    one.chmod(0o600)  # whatever the umask: what others may write is not loaded
                os.replace(made, path)
                os.replace(checksum, _checksum_of(path))
                return
        raise OSError(f"{shlex.join(compiler)}: {done.stderr.strip()[:500]}")
