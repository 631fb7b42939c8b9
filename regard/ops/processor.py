"""Maker and instructions of the processor, as the system and torch report them."""

import functools
from pathlib import Path

import torch

from regard.runtime.processor import Processor, system_processor

_OF_TORCH = {"AVX512": frozenset({"avx2", "avx512f"}), "AVX2": frozenset({"avx2"})}  # what its name for one implies


@functools.cache
def processor(listed: Path = Path("/proc/cpuinfo")) -> Processor:
    """Return what Linux lists; elsewhere what Python and torch know."""
    known = system_processor(listed)
    return (
        known
        if known.flags
        else known._replace(flags=_OF_TORCH.get(torch.backends.cpu.get_cpu_capability(), frozenset()))
    )
