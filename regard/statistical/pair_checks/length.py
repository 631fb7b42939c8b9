"""Sides whose lengths do not fit, and sides that were cut off."""

from collections.abc import Iterator

import numpy as np

from regard.arrays import Floats
from regard.statistical.pair_checks.check import Finding, PairCheck, PairCorpus

_FAR = 4.5  # standard deviations from which lengths do not fit
_ENDS = tuple(".!?…。！？\"”»'’)")
_SHORT = -0.25  # log ratio, in nats below the usual, from which a side without an end counts as cut off
_RARE = 0.05  # share of pairs whose ends may differ before that is a habit of the corpus


class UnequalLength(PairCheck):
    """A side that is far longer than the other one, or that is short and lacks the end of its sentence.

    The log ratio of characters is compared with its median in the corpus. Short pairs vary more, by 1 / length
    (https://aclanthology.org/J93-1004).
    """

    about = "unequal length"

    def findings(self, corpus: PairCorpus) -> Iterator[Finding]:
        if not corpus.pairs:
            return
        sizes = np.array([[len(text.strip()) for text in pair] for pair in corpus.pairs], np.float64) + 1
        ratios, deviations = _deviations(sizes)
        ended = np.array([[text.rstrip().endswith(_ENDS) for text in pair] for pair in corpus.pairs])
        habit = (ended[:, 0] != ended[:, 1]).mean() > _RARE
        for row, (ratio, deviation, (one, other)) in enumerate(zip(ratios, deviations, ended, strict=True)):
            if abs(deviation) > _FAR:
                longer = "source" if deviation < 0 else "target"
                yield Finding(row, min(1.0, abs(deviation) / _FAR / 2), f"the {longer} is far longer than usual")
            elif not habit and one != other and (ratio if one else -ratio) < _SHORT:
                yield Finding(
                    row, 0.6, f"the {'target' if one else 'source'} is short and lacks the end of its sentence"
                )
            elif not habit and one != other:
                yield Finding(row, 0.2, f"the {'target' if one else 'source'} lacks the end of its sentence")


def _deviations(sizes: Floats) -> tuple[Floats, Floats]:
    """Return log ratios target / source (pair,) from their median, and the same in standard deviations."""
    ratios = np.log(sizes[:, 1] / sizes[:, 0])
    ratios -= np.median(ratios)
    scaled = ratios * np.sqrt(sizes.mean(axis=1))
    spread = 1.4826 * np.median(np.abs(scaled))  # of a normal distribution, by its median
    return ratios, scaled / max(spread, 1e-6)
