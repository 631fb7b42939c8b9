"""The compiled engine: a library for each kind of processor, built ahead or once on this machine."""

import ctypes
import functools
import hashlib
import platform
from pathlib import Path
from typing import NamedTuple

from .compiled import KERNELS, library
from .processor import system_processor

FOLDER = Path(__file__).parent / "lib"  # of libraries that were built ahead
SOURCE = KERNELS / "engine.cpp"  # in Regard
DIGEST_NAME = "sources.sha256"  # in a folder of libraries: the sources that they were built of


class Variant(NamedTuple):
    """A library for processors with these instructions."""

    name: str
    machine: str  # as platform.machine() names it
    option: str  # of the compiler: the processor
    flags: frozenset[str]  # of /proc/cpuinfo, all of them

    @property
    def file_name(self) -> str:
        """Return the name of the library."""
        return f"engine-{self.name}.so"


_AVX2 = frozenset({"avx2", "fma", "f16c", "bmi1", "bmi2"})
_AVX512 = _AVX2 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
VARIANTS = (  # the first that fits is chosen
    Variant("x86_64-avx512vnni", "x86_64", "-march=cascadelake", _AVX512 | {"avx512_vnni"}),
    Variant("x86_64-avx512", "x86_64", "-march=skylake-avx512", _AVX512),
    Variant("x86_64-avxvnni", "x86_64", "-march=alderlake", _AVX2 | {"avx_vnni"}),
    Variant("x86_64-avx2", "x86_64", "-march=haswell", _AVX2),
    Variant("x86_64-base", "x86_64", "-march=x86-64", frozenset()),
    Variant("aarch64-dotprod", "aarch64", "-mcpu=generic+dotprod", frozenset({"asimd", "asimddp"})),
    Variant("aarch64-base", "aarch64", "-mcpu=generic", frozenset()),
)


def variants_of(machine: str, flags: frozenset[str]) -> list[Variant]:
    """Return the variants that a processor can run, the quickest first."""
    return [one for one in VARIANTS if one.machine == machine and one.flags <= flags]


def sources_digest() -> str:
    """Return a digest of the engine's sources; "" where they are not installed."""
    if not SOURCE.is_file():
        return ""
    read = b"".join(file.read_bytes() for file in [SOURCE, *sorted(SOURCE.parent.glob("*.h"))])
    return hashlib.sha256(read).hexdigest()


@functools.cache
def engine_library() -> ctypes.CDLL:
    """Return the library for this processor: built ahead, else compiled once, as `compiled` does.

    Raises OSError where this package has none, and no compiler builds one.
    """
    wanted, digest = variants_of(platform.machine(), system_processor().flags), sources_digest()
    if not digest or _digest_of(FOLDER) == digest:  # an old one has another network
        found = [FOLDER / one.file_name for one in wanted if (FOLDER / one.file_name).is_file()]
        if found:
            return ctypes.CDLL(str(found[0]))
    if not digest:
        hint = "install the wheel of regard-runtime for it"
        raise OSError(f"{FOLDER} has no engine for this processor ({platform.machine()}); {hint}")
    compiled = library(SOURCE)
    if compiled is None:
        problem = "no C++ compiler (CXX or c++), one that is too slow, or no usable cache folder"
        raise OSError(f"the engine cannot be compiled: {problem}")
    return compiled


def _digest_of(folder: Path) -> str:
    try:
        return (folder / DIGEST_NAME).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
