"""What figures belong to: the processor and what it can do, versions, and the most memory that a process held."""

import os
import platform
import resource
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

MEGABYTE = 2**10 if sys.platform == "linux" else 2**20  # of ru_maxrss, which is in KB on Linux and in bytes on a Mac
FLAGS = (
    "avx2",
    "avx512f",
    "avx512_vnni",
    "avx_vnni",
    "avx512_bf16",
    "amx_tile",
    "amx_bf16",
    "amx_int8",
    "asimd",
    "sve",
)
PACKAGES = ("torch", "numpy", "transformers", "ctranslate2", "joeynmt")


def machine(threads: int) -> dict[str, Any]:
    """What figures belong to; packages only where they are installed."""
    models, flags = _told("model name"), _told("flags") or _told("Features")
    found = {"processor": (models or [platform.processor()])[0], "cores": os.cpu_count(), "threads": threads}
    known = set(" ".join(flags).split())
    found |= {"flags": [flag for flag in FLAGS if flag in known], "memory_gb": _memory()}
    found |= {"python": platform.python_version(), **versions(), "dtype": "float32", "commit": _commit()}
    return found | {"date": f"{datetime.now(UTC):%Y-%m-%d}"}


def multiplies_bfloat16() -> bool:
    """Whether the processor has instructions for it."""
    return bool({"avx512_bf16", "amx_bf16"} & set(" ".join(_told("flags")).split()))


def versions() -> dict[str, str]:
    """Of the packages that are measured, where they are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def as_line(found: dict[str, Any]) -> str:
    """The same for people."""
    return ", ".join(f"{name} {' '.join(value) if isinstance(value, list) else value}" for name, value in found.items())


def peak() -> float:
    """The most megabytes that this process ever held.

    Where the system tells it, of this process alone: `ru_maxrss` begins with what the parent held when it forked.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MEGABYTE
    (line,) = [line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 2**10


def _told(name: str) -> list[str]:
    """The values of /proc/cpuinfo under a name, of the first processor."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [line.partition(":")[2].strip() for line in lines if line.startswith(name)][:1]


def _memory() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)


def _commit() -> str:
    """Of the code, where git knows it."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
