"""Choice of the matrix-multiplication backend and of the number of threads.

On an AMD oneDNN's products are twice as fast as those of the BLAS that torch calls; on an Intel that BLAS wins for
small ones. So a training measures the machine once (`timings`), and what was measured decides from then on. Where
nothing is measured yet, the processor's flags decide.
"""

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import torch

from regard.errors import ConfigError, nearest
from regard.ops.plain import is_plain
from regard.ops.processor import processor
from regard.ops.timings import PRODUCT_KINDS, Timings, kept_timings
from regard.runtime.processor import Processor

ProductKind = Literal["small", "middle", "large", "vocabulary", "gradient"]
Products = Literal["auto", "torch", "onednn"]

VARIABLE = "REGARD_PRODUCTS"  # fixes who computes products, as the setting training.products does
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
_WORTH = 0.95  # share of torch's time that oneDNN may take at most to be chosen
CLOSE = 1.15  # times the least time that fewer threads may take to be chosen

_SMALL, _MIDDLE = 2**21, 2**24  # multiply-adds below which a product is small, or middle
_WIDE = 4096  # outputs of a vocabulary


def kind_of(rows: int, in_dim: int, out_dim: int) -> ProductKind:
    """Return the kind of a product of (rows, in_dim) and a weight (out_dim, in_dim)."""
    size = rows * in_dim * out_dim
    if size < _SMALL:
        return "small"
    if out_dim >= _WIDE:
        return "vocabulary"
    return "middle" if size < _MIDDLE else "large"


def prefers_onednn(kind: ProductKind) -> bool:
    """Return whether oneDNN computes products of a kind on the present number of threads."""
    return kind in onednn_kinds(torch.get_num_threads())


def fix(products: Products) -> Products:
    """Fix the backend of products in this process from now on, and return the one before.

    auto: the environment says it, else a measurement, else the flags.
    """
    before, _fixed[0] = _fixed[0], products
    onednn_kinds.cache_clear()
    return before


_fixed: list[Products] = ["auto"]  # of the process


@functools.cache
def onednn_kinds(threads: int) -> frozenset[str]:
    """Return the kinds of products that oneDNN computes on `threads` threads."""
    products = _fixed[0] if _fixed[0] != "auto" else _asked_for()
    if products != "auto":
        return frozenset(PRODUCT_KINDS if products == "onednn" else ())
    measured = picked(kept_timings(), threads)
    return by_flags(processor()) if measured is None else measured


def picked(timings: Timings | None, threads: int) -> frozenset[str] | None:
    """Return the kinds for which oneDNN was measured to win on `threads` threads; None without a measurement."""
    if timings is None or threads not in timings.products:
        return None
    kinds = timings.products[threads].items()
    return frozenset(kind for kind, ms in kinds if ms.get("onednn", float("inf")) < _WORTH * ms["torch"])


def by_flags(known: Processor) -> frozenset[str]:
    """Return the kinds for oneDNN where nothing was measured: torch's BLAS is Intel's, and quick on Intel alone."""
    quick = known.has("avx2") and known.vendor != "GenuineIntel"
    return frozenset(PRODUCT_KINDS) - {"small"} if quick else frozenset()


def _asked_for() -> Products:
    """Return what the environment says. Raises ConfigError for another word."""
    said = os.environ.get(VARIABLE) or "auto"
    match said:
        case "auto" | "torch" | "onednn":
            return said
    raise ConfigError(VARIABLE, f"there is no '{said}'", nearest(said, ("auto", "torch", "onednn")))


def best_threads(timings: Timings, now: int) -> int:
    """Return the fewest threads, `now` at most, that are about as fast as any: processors may share one core."""
    known = {count: ms for count, ms in timings.threads.items() if count <= now}
    least = min(known.values(), default=0.0)
    return min((count for count, ms in known.items() if ms <= CLOSE * least), default=now)


def choose_threads(setting: int | Literal["auto"], timings: Timings) -> int:
    """Set and return the number of threads; auto: as the environment says, else the best that were measured."""
    if setting != "auto":
        torch.set_num_threads(setting)
    elif not any(os.environ.get(name) for name in THREAD_VARIABLES):
        torch.set_num_threads(best_threads(timings, torch.get_num_threads()))
    return torch.get_num_threads()


@contextmanager
def settled(products: Products, threads: int | Literal["auto"], timings: Callable[[], Timings]) -> Iterator[int]:
    """Choose backend and threads by settings or measurement, and give the threads; inside `plain()` neither."""
    before = torch.get_num_threads()
    if is_plain():
        yield before
        return
    fixed = fix(products)
    try:
        yield choose_threads(threads, timings())
    finally:
        fix(fixed)
        torch.set_num_threads(before)
