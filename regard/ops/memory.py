"""Memory that is kept in the process, and memory that there is not enough of."""

import ctypes
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from regard.errors import TrainingError

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # glibc's malloc.h
_TOO_LITTLE = (  # how torch says it, besides its own error
    "can't allocate memory",
    "cannot allocate memory",
    "out of memory",
    "bad_alloc",
    "storage size calculation overflowed",
)


def keep_memory() -> bool:
    """Have glibc's allocator reuse freed blocks instead of returning them to the kernel; False where it cannot.

    Large tensors are made and freed at every step; without this each one is fetched from the kernel page by page, and
    a page touched for the first time costs eight times a warm one. The price is that the process keeps its largest size
    so far.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    most = 2**31 - 1
    return all((mallopt(_MMAP_THRESHOLD, most), mallopt(_TRIM_THRESHOLD, most), mallopt(_TOP_PAD, 2**26)))


def release_memory() -> bool:
    """Return freed blocks to the kernel now, which `keep_memory` keeps; False where the allocator cannot."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return bool(ctypes.CDLL(None).malloc_trim(0))
    except (OSError, AttributeError):
        return False


def free_bytes(device: torch.device) -> float:
    """Return the bytes that are free: on the machine, within the limits of the process; infinite if unknown."""
    if device.type == "cuda":
        return float(torch.cuda.mem_get_info(device)[0])
    limits = [_available(), _group_left(), _address_space_left()]
    return min((limit for limit in limits if limit is not None), default=math.inf)


def _available() -> float | None:
    """Free memory and caches that the kernel would give up."""
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return float(line.split()[1]) * 1024
    return None


def _group_left() -> float | None:
    """Return the bytes that a container may still take, with the caches of files that the kernel would give up."""
    limit, used = (next(iter(_lines(f"/sys/fs/cgroup/memory.{name}")), "max") for name in ("max", "current"))
    if "max" in (limit, used):
        return None
    cached = [line.split()[1] for line in _lines("/sys/fs/cgroup/memory.stat") if line.startswith("inactive_file ")]
    return float(limit) - float(used) + sum(map(float, cached))


def _address_space_left() -> float | None:
    """Return the bytes that `ulimit -v` leaves."""
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = next(iter(_lines("/proc/self/statm")), "0").split()[0]
    return None if limit == resource.RLIM_INFINITY else float(limit - int(pages) * resource.getpagesize())


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return []


def lacks_memory(error: Exception) -> bool:
    """Return whether it says that there is too little memory, on whatever device."""
    text = str(error).lower()
    return isinstance(error, MemoryError | OverflowError | torch.OutOfMemoryError) or (  # sizes beyond 64 bits
        isinstance(error, RuntimeError) and any(words in text for words in _TOO_LITTLE)
    )


@contextmanager
def memory_errors_named(where: str, hint: str) -> Iterator[None]:
    """Raises TrainingError where memory does not suffice for what is done inside."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not lacks_memory(error):
            raise
        raise TrainingError(f"training: out of memory {where}; what was saved before is kept. {hint}") from error


@contextmanager
def hinting_at_memory(hint: str) -> Iterator[None]:
    """Raises MemoryError with a hint where memory does not suffice for what is done inside."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not lacks_memory(error):
            raise
        raise MemoryError(f"out of memory: {hint}") from error
