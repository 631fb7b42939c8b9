"""One switch for every fast path of the package."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_local = threading.local()


@contextmanager
def plain() -> Iterator[None]:
    """Switch every fast path off in this thread: attention kernels, oneDNN products, byte dropout, compiled cells.

    For proofs, relevance propagation and double backward: what runs inside is made of torch's own operations.
    """
    before = is_plain()
    _local.plain = True
    try:
        yield
    finally:
        _local.plain = before


def is_plain() -> bool:
    """Whether the fast paths are off in this thread."""
    return getattr(_local, "plain", False)
