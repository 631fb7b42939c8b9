"""Exact tests of two systems: McNemar's of right and wrong answers, Wilcoxon's of figures run by run."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from regard.evaluation.metric import Statistics

_EQUAL = 1e-9  # of a difference beside the largest: smaller ones are of rounding


class McNemar(NamedTuple):
    """Exact test of the examples that one of two systems alone has right (https://doi.org/10.1007/BF02295996)."""

    only_a: int  # examples that the first alone has right
    only_b: int
    p_value: float  # two-sided, of a fair coin: of as uneven a split, or a more uneven one

    def __str__(self) -> str:
        return f"McNemar: right alone {self.only_a:,} and {self.only_b:,}, p = {self.p_value:.3g}"

    def values(self) -> dict[str, float]:
        """Return JSON values."""
        return self._asdict()


def mcnemar(a: Statistics, b: Statistics) -> McNemar | None:
    """Return the test of two tables (example, 2) of [1 if right, 1]; None where they count something else."""
    tables = np.stack([a, b]) if a.shape == b.shape else np.zeros((0, 0))
    if tables.ndim != 3 or tables.shape[2] != 2 or not _are_outcomes(tables):
        return None
    ours, theirs = tables[:, :, 0] == 1
    only_a, only_b = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
    return McNemar(only_a, only_b, _fair_coin(only_a, only_b))


def wilcoxon(differences: Sequence[float]) -> float:
    """Return the two-sided p-value of the signed-rank test (https://doi.org/10.2307/3001968), exact for any count.

    Zeros are left out, equal sizes share the mean of their ranks: of all signs of the differences as many count as
    have a sum of ranks as far from its mean as the observed one. 1 where nothing differs; at least 2 / 2^differences.
    """
    found = np.asarray(differences, np.float64)
    largest = np.abs(found).max(initial=0.0)
    found = found[np.abs(found) > _EQUAL * largest]
    ranks = _doubled_ranks(np.abs(found), _EQUAL * largest)
    ways = [1]  # of each doubled sum of ranks, over all signs
    for rank in ranks:
        ways = [one + other for one, other in zip([*ways, *[0] * rank], [*[0] * rank, *ways], strict=True)]
    observed = sum(rank for rank, one in zip(ranks, found, strict=True) if one > 0)
    tail = min(sum(ways[: observed + 1]), sum(ways[observed:]))
    return min(1.0, 2 * tail / sum(ways))


def _are_outcomes(tables: Statistics) -> bool:
    """Return whether each row is one answer, right or wrong."""
    return bool((tables[:, :, 1] == 1).all() and np.isin(tables[:, :, 0], (0, 1)).all())


def _fair_coin(one: int, other: int) -> float:
    """Return the two-sided p-value of two counts that are as likely to grow."""
    count, ways, total = one + other, 1, 0
    for heads in range(min(one, other) + 1):
        total += ways
        ways = ways * (count - heads) // (heads + 1)
    return min(1.0, 2 * total / 2**count)


def _doubled_ranks(sizes: Statistics, equal: float) -> list[int]:
    """Return twice the rank of each size, from 1; equal sizes have the mean of theirs."""
    below = (sizes[None] < sizes[:, None] - equal).sum(axis=1)
    same = (np.abs(sizes[None] - sizes[:, None]) <= equal).sum(axis=1)
    doubled: list[int] = (2 * below + same + 1).tolist()
    return doubled
