"""One switch for every fast path of the package."""

import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

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


def without_compiler() -> AbstractContextManager[object]:
    """Run compiled modules uncompiled. The compiler, 80 MB, is imported for none."""
    if "torch._dynamo" not in sys.modules:
        return nullcontext()
    import torch

    return torch.compiler.set_stance("force_eager")


def is_plain() -> bool:
    """Return whether the fast paths are off in this thread."""
    return getattr(_local, "plain", False)
