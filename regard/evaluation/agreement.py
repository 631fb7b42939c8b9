"""Agreement of answers with the right labels beyond what chance would give: 0 for one that ignores the text."""

from math import sqrt
from typing import NamedTuple

from regard.evaluation.f1 import ClassMetric
from regard.evaluation.metric import Statistics


class Matthews(ClassMetric):
    """100 · (n · right - Σ given · wanted) / √((n² - Σ given²) · (n² - Σ wanted²)), of n examples; sums over classes.

    Matthews' correlation of two classes, as Gorodkin extends it to several: the correlation of answers and right labels
    (https://doi.org/10.1016/j.compbiolchem.2004.09.006). 0 where all answers or all right labels are of one
    class. Labels that no reference has are one class here: with two and more of them answered, Gorodkin's is lower.
    """

    aliases = "mcc, phi, r_k"
    name = "MCC"

    def value(self, sums: Statistics) -> float:
        seen = _Sums.of(sums)
        spread = sqrt((seen.pairs - seen.given) * (seen.pairs - seen.wanted))
        return 100 * (seen.right - seen.chance) / spread if spread else 0.0


class Kappa(ClassMetric):
    """100 · (observed - chance) / (1 - chance), of shares of right answers (https://doi.org/10.1177/001316446002000104).

    `chance` is the share that as many answers of each class would have by chance: Σ given · wanted / n². 0 where all
    answers and all right labels are of one class.
    """

    aliases = "cohens_kappa"
    name = "kappa"

    def value(self, sums: Statistics) -> float:
        seen = _Sums.of(sums)
        left = seen.pairs - seen.chance
        return 100 * (seen.right - seen.chance) / left if left else 0.0


class _Sums(NamedTuple):
    """Counts of n examples; all are whole numbers, so that a difference of equal ones is zero."""

    pairs: float  # n²
    right: float  # n · right answers
    given: float  # Σ of the classes: given²
    wanted: float  # Σ wanted²
    chance: float  # Σ given · wanted

    @classmethod
    def of(cls, sums: Statistics) -> "_Sums":
        right, given, wanted = sums.reshape(3, -1)
        n = float(wanted.sum())
        products = ((given, given), (wanted, wanted), (given, wanted))
        return cls(n * n, n * float(right.sum()), *(float((one * other).sum()) for one, other in products))
