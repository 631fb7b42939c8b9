"""Grouping of examples into batches: little padding, within a budget.

The cost of a batch is rows × its longest sequence over all columns, EOS included.
"""

from collections.abc import Hashable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.arrays import Longs

Lengths = NDArray[np.int32]

BLUR = 0.6  # tokens; on Multi30k 4.9 % are padding, and half of the examples that met meet again (1.0: 5.7 %, a third)


def chunks(lengths: ArrayLike, tokens: int) -> list[Longs]:
    """Return the positions of texts that are processed together, longest first; `lengths` are the padded ones."""
    flat = np.asarray(lengths, np.int32)
    order = np.argsort(-flat, kind="stable")
    return list(packed_rows(flat[order], order, tokens=tokens))


def packed_rows(lengths: Lengths, order: Longs, *, tokens: int | None, sentences: int | None = None) -> Iterator[Longs]:
    """Cut `order` into runs within the budget; `lengths` in that order. An example over the budget is a run alone."""
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


def bucketed(columns: Sequence[Lengths], rng: np.random.Generator) -> Longs:
    """Return all examples in order of the length of the last column, then of the longest other one, ties at random.

    The other length rises where the last is even and falls where it is odd, so that neighbours stay similar where the
    last length changes: a batch across that border needs less padding. A random part of a token is added to it, so
    that batches differ between epochs.
    """
    *others, last = columns
    other = np.maximum.reduce(others) if others else np.zeros_like(last)
    rising = np.where(last % 2 == 0, 1, -1)
    blurred = other + rng.uniform(-BLUR, BLUR, len(last))
    return np.lexsort((blurred * rising, last))


def adjacent(order: Longs, values: Sequence[Hashable]) -> Longs:
    """Return the same order with equal values together, at the place of the first of each."""
    first: dict[Hashable, int] = {}
    ranks = [first.setdefault(values[place], rank) for rank, place in enumerate(order.tolist())]
    return order[np.argsort(ranks, kind="stable")]
