"""Maker and instructions of the processor, as the system reports them."""

import functools
import platform
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

_FEATURES = {  # by the flags that say so, all of a group
    "avx2": ({"avx2"},),
    "avx512": ({"avx512f"},),
    "int8": ({"avx512_vnni"}, {"avx_vnni"}),  # that compiled code multiplies with
    "bfloat16": ({"avx512_bf16"}, {"amx_bf16"}, {"bf16"}),
    "amx": ({"amx_tile", "amx_bf16"},),
}


class Processor(NamedTuple):
    """Return the properties that the system reports."""

    vendor: str
    model: str
    flags: frozenset[str]

    def has(self, feature: str) -> bool:
        """Return whether it has a feature: avx2, avx512, int8 (VNNI), bfloat16 or amx."""
        return any(group <= self.flags for group in _FEATURES[feature])

    @property
    def features(self) -> dict[str, bool]:
        """All features by name."""
        return {name: self.has(name) for name in _FEATURES}


@functools.cache
def system_processor(listed: Path = Path("/proc/cpuinfo")) -> Processor:
    """Return what Linux lists; elsewhere what Python knows, which has no flags."""
    try:
        with listed.open(encoding="utf-8", errors="replace") as file:
            first = list(takewhile(str.strip, file))  # of a hundred alike
    except OSError:
        first = []
    values = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in first)}
    flags = (values.get("flags") or values.get("Features") or "").split()  # x86; ARM
    return Processor(
        values.get("vendor_id") or values.get("CPU implementer") or platform.system(),
        values.get("model name") or platform.processor() or platform.machine(),
        frozenset(flags),
    )
