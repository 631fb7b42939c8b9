"""Milliseconds of products on this machine, measured once and kept in the user's cache."""

import hashlib
import json
import logging
import os
import platform
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.nn import functional

from regard.compat import onednn_linear
from regard.config.atomic_write import write_atomically
from regard.ops.processor import processor
from regard.runtime.user_cache import cache_folder, made_folder, read_own

PRODUCT_KINDS = {  # of products: rows, in_dim and out_dim of the one that is measured
    "small": (32, 128, 128),
    "middle": (64, 128, 512),
    "large": (1024, 256, 256),
    "vocabulary": (128, 128, 8192),
    "gradient": (256, 1024, 256),  # of a weight: in_dim is what a batch has of rows, and both sides are transposed
}
OF_THREADS = (1024, 512, 512)  # the product whose time tells how many threads are worth it
ROUNDS = 5  # of trials in turns; the quickest of each counts
_THREADS = torch.get_num_threads()  # that the process began with

_log = logging.getLogger(__name__)


class Timings(NamedTuple):
    """Milliseconds."""

    threads: Mapping[int, float]  # of one product, by number of threads
    products: Mapping[int, Mapping[str, Mapping[str, float]]]  # by threads, kind, and torch, onednn or bfloat16


def timings_file() -> Path:
    """Return the file for this processor, these versions and the threads that the process began with."""
    known, own = processor(), Path(__file__).read_bytes()  # of another version of Regard: another measurement
    machine = (platform.node(), platform.machine(), os.cpu_count(), known.vendor, known.model, sorted(known.flags))
    key = repr((own, torch.__version__, machine, _THREADS))
    return cache_folder() / f"timings-{hashlib.sha256(key.encode()).hexdigest()[:16]}.json"


def kept_timings() -> Timings | None:
    """Return what was measured before on this machine; None where there is nothing, or no file of ours."""
    try:
        return _parsed(json.loads(read_own(timings_file())))
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, AttributeError):
        return None


def timings(*, again: bool = False) -> Timings:
    """Return what was measured before, or measure now (a third of a second) and keep it."""
    found = None if again else kept_timings()
    if found is not None:
        return found
    measured = measure()
    try:
        made_folder()
        path = timings_file()
        write_atomically(path, json.dumps(measured._asdict(), indent=1))
        path.chmod(0o600)
    except (OSError, RuntimeError) as error:
        _log.info("timings are not kept: %s; they will be measured again", error)
    return measured


def measure() -> Timings:
    """Measure on one thread, on half of the threads and on all."""
    before = torch.get_num_threads()
    counts = sorted({1, max(1, before // 2), before})
    try:
        with torch.no_grad():
            scaling = _fastest({count: _on(count, OF_THREADS) for count in counts})
            products = {}
            for count in sorted({1, before}):
                torch.set_num_threads(count)
                products[count] = {kind: _fastest(_contenders(kind, *shape)) for kind, shape in PRODUCT_KINDS.items()}
    finally:
        torch.set_num_threads(before)
    return Timings(scaling, products)


def _contenders(kind: str, rows: int, in_dim: int, out_dim: int) -> dict[str, Callable[[], Any]]:
    """Return the backends that can compute a product, as callables. torch's own generator is not used."""
    inputs, weight = torch.full((rows, in_dim), 0.5), torch.full((out_dim, in_dim), 0.5)
    if kind == "gradient":
        inputs, weight = torch.full((in_dim, rows), 0.5).t(), torch.full((in_dim, out_dim), 0.5).t()
    found: dict[str, Callable[[], Any]] = {"torch": lambda: functional.linear(inputs, weight)}
    if product := onednn_linear():
        found["onednn"] = lambda: product(inputs.contiguous(), weight, None)
    if processor().has("bfloat16"):
        half = weight.bfloat16()
        found["bfloat16"] = lambda: functional.linear(inputs.bfloat16(), half).float()
    return found


def _on(threads: int, shape: tuple[int, int, int]) -> Callable[[], Any]:
    """Return the faster backend for float32 on `threads` threads."""
    torch.set_num_threads(threads)
    contenders = _contenders("large", *shape)
    contenders.pop("bfloat16", None)
    times = _fastest(contenders, rounds=1)
    run = contenders[min(times, key=times.__getitem__)]

    def timed() -> None:
        torch.set_num_threads(threads)
        run()

    return timed


def _fastest(contenders: Mapping[Any, Callable[[], Any]], rounds: int = ROUNDS) -> dict[Any, float]:
    """Milliseconds of each, the least of some trials in turns, after one that is not counted."""
    best = dict.fromkeys(contenders, float("inf"))
    for number in range(rounds + 1):
        for name, run in contenders.items():
            start = time.perf_counter()
            run()
            took = 1000 * (time.perf_counter() - start)
            if number:
                best[name] = min(best[name], took)
    return best


def _parsed(values: Any) -> Timings:
    """Raise ValueError, KeyError, TypeError or AttributeError for anything but a measurement."""
    threads = {int(count): float(ms) for count, ms in values["threads"].items()}
    products = {
        int(count): {kind: {who: float(ms) for who, ms in kinds[kind].items()} for kind in PRODUCT_KINDS}
        for count, kinds in values["products"].items()
    }
    if not threads or any("torch" not in ms for kinds in products.values() for ms in kinds.values()):
        raise ValueError("an incomplete measurement")
    return Timings(threads, products)
