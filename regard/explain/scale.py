"""Strength of a weight: a fraction of one where the weights are a distribution, else a signed number.

The weights of `sigmoid` may sum to more than one, those of a window with a Gaussian to less, and `unnormalised` ones
are scores, which may be negative: for none of these is 0.4 the same as 40 %.
"""

import math
from collections.abc import Iterator

from regard.explain.alignment import Weights

SHADES = " ░▒▓█"  # of a terminal, from nothing to the strongest
SLACK = 0.01  # of a sum: weights may come from bfloat16
ROUNDED = 5e-5  # of each weight: maps keep four digits


def are_fractions(weights: Weights) -> bool:
    """Return whether no weight is negative and every row sums to one; a row that sees nothing may be all zeros."""
    sums = [(sum(row), SLACK + ROUNDED * len(row)) for row in weights]
    positive = all(weight >= 0 for row in weights for weight in row)
    return positive and all(total == 0 or abs(total - 1) <= slack for total, slack in sums)


def bounded(weights: Weights) -> bool:
    """Return whether every weight is between 0 and 1, so that a colour can stand for it as it is."""
    return all(0 <= weight <= 1 + SLACK for weight in _finite(weights))


def largest(weights: Weights) -> float:
    """Return the value of the strongest colour: 1, or the largest absolute weight if weights leave 0 … 1."""
    return 1.0 if bounded(weights) else max(map(abs, _finite(weights)))


def scaled(weight: float, most: float) -> float:
    """Return a weight scaled to -1 … 1, where 1 is the strongest colour; 0 if it is not finite."""
    return min(max(weight / most, -1.0), 1.0) if math.isfinite(weight) else 0.0


def shade(strength: float) -> str:
    """Return the shade of a strength from -1 to 1: the nearest of 0, 1/4, 1/2, 3/4 and 1, whatever its sign."""
    return SHADES[round(abs(strength) * (len(SHADES) - 1))]


def amount(weight: float, shares: bool) -> str:
    """
    >>> amount(0.5, True), amount(0.5, False), amount(-12.345, False)
    ('50%', '0.5', '−12.3')
    """
    return f"{weight:.0%}" if shares else f"{weight:.3g}".replace("-", "−")


def legend(weights: Weights) -> str:
    """Return the meaning of the colours in words; "" where they are weights between 0 and 1."""
    if bounded(weights):
        return ""
    most = f"full colour: {amount(largest(weights), False)}" if largest(weights) != 1 else ""
    return ", ".join(filter(None, [most, "with a bar: below zero" if min(_finite(weights)) < 0 else ""]))


def _finite(weights: Weights) -> Iterator[float]:
    return (weight for row in weights for weight in row if math.isfinite(weight))
