"""The compiled engine: a library for each kind of processor, built ahead and chosen when it is opened."""

import ctypes
import functools
import platform
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "lib"


class Variant(NamedTuple):
    """A library for processors with these instructions."""

    name: str
    machine: str  # as platform.machine() names it
    march: str  # option -march of the compiler
    flags: frozenset[str]  # of /proc/cpuinfo, all of them

    @property
    def file(self) -> Path:
        """Return the place of the library."""
        return FOLDER / f"engine-{self.name}.so"


_AVX2 = frozenset({"avx2", "fma", "f16c", "bmi1", "bmi2"})
_AVX512 = _AVX2 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
VARIANTS = (  # the first that fits is chosen
    Variant("x86_64-avx512vnni", "x86_64", "cascadelake", _AVX512 | {"avx512_vnni"}),
    Variant("x86_64-avx512", "x86_64", "skylake-avx512", _AVX512),
    Variant("x86_64-avxvnni", "x86_64", "alderlake", _AVX2 | {"avx_vnni"}),
    Variant("x86_64-avx2", "x86_64", "haswell", _AVX2),
    Variant("x86_64-base", "x86_64", "x86-64", frozenset()),
    Variant("aarch64-dotprod", "aarch64", "armv8.2-a+dotprod", frozenset({"asimd", "asimddp"})),
    Variant("aarch64-base", "aarch64", "armv8-a", frozenset()),
)


def variants_of(machine: str, flags: frozenset[str]) -> list[Variant]:
    """Return the variants that a processor can run, the quickest first."""
    return [one for one in VARIANTS if one.machine == machine and one.flags <= flags]


def processor_flags(listed: Path = Path("/proc/cpuinfo")) -> frozenset[str]:
    """Return the instructions that Linux lists; none elsewhere."""
    try:
        with listed.open(encoding="utf-8", errors="replace") as file:
            first = list(takewhile(str.strip, file))  # of many cores alike
    except OSError:
        return frozenset()
    values = {name.strip(): value for name, _, value in (line.partition(":") for line in first)}
    return frozenset((values.get("flags") or values.get("Features") or "").split())


@functools.cache
def engine_library() -> ctypes.CDLL:
    """Return the library for this processor. Raises OSError where this package has none."""
    found = [one.file for one in variants_of(platform.machine(), processor_flags()) if one.file.is_file()]
    if not found:
        hint = "install the wheel of regard-runtime, or build them: python -m regard_runtime.build"
        raise OSError(f"{FOLDER} has no engine for this processor ({platform.machine()}); {hint}")
    return ctypes.CDLL(str(found[0]))
