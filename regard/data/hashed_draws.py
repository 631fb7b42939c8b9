"""Random numbers as a pure function of (seed, epoch, line, number): any order of lines, many at once.

The mixing function is that of SplitMix64 (Steele, Lea and Flood 2014, https://doi.org/10.1145/2714064.2660195).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

_STEP, _FIRST, _SECOND = (np.uint64(one) for one in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


class HashedDraws:
    """Draws of one epoch."""

    def __init__(self, seed: int, epoch: int) -> None:
        self._key = np.random.SeedSequence((seed, epoch)).generate_state(1, np.uint64)

    def of(self, lines: NDArray[Any], numbers: NDArray[Any]) -> Words:
        """Return 64 bits for each number of a line; the arrays have one shape, or shapes that broadcast to one."""
        return _mixed(_mixed(lines.astype(np.uint64) * _STEP + self._key) + numbers.astype(np.uint64) * _STEP)


class AliasSampler:
    """Ids by weights (ids,), drawn in a step each (Walker 1977, https://doi.org/10.1145/355744.355749)."""

    def __init__(self, weights: NDArray[np.float64]) -> None:
        share = weights * (len(weights) / weights.sum())  # of a slot each
        self._others = np.arange(len(weights), dtype=np.int32)
        small, large = (list(np.flatnonzero(part)) for part in (share < 1, share >= 1))
        while small and large:  # a slot that is not full is filled up from one that is more than full
            low, high = small.pop(), large[-1]
            self._others[low] = high
            share[high] -= 1 - share[low]
            if share[high] < 1:
                small.append(large.pop())
        share[[*small, *large]] = 1.0  # but for rounding
        self._full = np.minimum(share * 2.0**32, 2.0**32).astype(np.uint64)

    def draw(self, bits: Words) -> NDArray[np.int32]:
        """Return an id for each 64 bits: the upper half chooses a slot, the lower one of its two ids."""
        slots = ((bits >> np.uint64(32)) * np.uint64(len(self._others)) >> np.uint64(32)).astype(np.int32)
        stays = (bits & np.uint64(0xFFFFFFFF)) < self._full[slots]
        return np.where(stays, slots, self._others[slots])


def _mixed(bits: Words) -> Words:
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    mixed: Words = bits ^ (bits >> np.uint64(31))
    return mixed
