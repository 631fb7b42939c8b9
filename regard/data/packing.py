"""Which examples share a batch: little padding, a budget that holds, an order that is shuffled anew each epoch.

The cost of a batch is rows × its longest sequence over all columns, EOS included.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Longs = NDArray[np.int64]
Lengths = NDArray[np.int32]


def chunks(lengths: ArrayLike, tokens: int) -> list[Longs]:
    """Positions of texts to be worked on together, the longest first; `lengths` as they are to be padded."""
    flat = np.asarray(lengths, np.int32)
    order = np.argsort(-flat, kind="stable")
    return list(packed(flat[order], order, tokens=tokens))


def packed(lengths: Lengths, order: Longs, *, tokens: int | None, sentences: int | None = None) -> Iterator[Longs]:
    """Cuts `order` into runs within the budget; `lengths` in that order. What alone is over it forms a run alone."""
    start = 0
    while start < len(order):
        most = len(order) - start if sentences is None else sentences
        if tokens is not None:
            most = min(most, tokens // int(lengths[start]))  # no run that starts here can have more rows
            longest = np.maximum.accumulate(lengths[start : start + most])
            costs = longest * np.arange(1, len(longest) + 1, dtype=np.int64)
            most = int(np.searchsorted(costs, tokens, side="right"))  # costs only grow
        end = start + max(most, 1)
        yield order[start:end]
        start = end


def bucketed(columns: Sequence[Lengths], pool: int, draws: np.random.Generator) -> Iterator[Longs]:
    """All examples in random pools; within a pool by the length of the last column, then of the others.

    The others rise where the length before is even and fall where it is odd, so that neighbours stay alike where
    one length ends and the next begins: a batch across that border is padded less.
    """
    shuffled = draws.permutation(len(columns[0]))
    for start in range(0, len(shuffled), pool):
        chosen = shuffled[start : start + pool]
        keys = list[Lengths]()  # the first sorts last
        for lengths in reversed(columns):
            rises = np.where(keys[0] % 2 == 0, 1, -1) if keys else 1
            keys.insert(0, lengths[chosen] * rises)
        yield chosen[np.lexsort(keys)]
