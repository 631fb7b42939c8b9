"""Memory that is kept in the process, and memory that there is not enough of."""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from regard.errors import TrainingError

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # glibc's malloc.h
_TOO_LITTLE = ("can't allocate memory", "out of memory", "bad_alloc")  # how torch says it, besides its own error


def keep_memory() -> bool:
    """Tells glibc's allocator to reuse freed blocks instead of returning them to the kernel; False where it cannot.

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


def lacks_memory(error: Exception) -> bool:
    """Whether it says that there is too little memory, on whatever device."""
    text = str(error).lower()
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError) and any(words in text for words in _TOO_LITTLE)
    )


@contextmanager
def telling_of_memory(where: str, hint: str) -> Iterator[None]:
    """Raises TrainingError where memory does not suffice for what is done inside."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not lacks_memory(error):
            raise
        raise TrainingError(f"training: out of memory {where}; what was saved before is kept. {hint}") from error
