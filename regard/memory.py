"""Keeps freed memory in the process: on Linux a page touched for the first time costs eight times a warm one."""

import ctypes
import sys

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # glibc's malloc.h


def keep_memory() -> bool:
    """Tells glibc's allocator to reuse freed blocks instead of returning them to the kernel; False where it cannot.

    Large tensors are made and freed at every step; without this each one is fetched from the kernel page by page.
    The price is that the process keeps its largest size so far.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    most = 2**31 - 1
    return all((mallopt(_MMAP_THRESHOLD, most), mallopt(_TRIM_THRESHOLD, most), mallopt(_TOP_PAD, 2**26)))
