"""Lexicalised distortion: how a phrase pair stands to the one before and the one behind it.

That of Moses, `wbe-msd-bidirectional-fe`, https://aclanthology.org/2005.iwslt-1.8: by links at the corners of a pair.
"""

import numpy as np
from numpy.typing import NDArray

from regard.arrays import Floats, Longs
from regard.statistical.bitext import Bitext
from regard.statistical.phrase_extraction import Linked, Occurrences

MONOTONE, SWAP, DISCONTINUOUS = range(3)  # how a phrase stands to the one before
SMOOTHING = 0.5  # the shares of all pairs together count as so much of an occurrence of each


def reordering_scores(bitext: Bitext, linked: Linked, found: Occurrences, which: Longs) -> Floats:
    """(pair, 6): log p of each orientation to the previous and to the next phrase of the target.

    `which` is the pair of each occurrence.
    """
    pairs = int(which.max(initial=-1)) + 1
    columns = []
    for one in orientations(bitext, linked, found):
        counts = np.bincount(which * 3 + one, minlength=pairs * 3).reshape(pairs, 3)
        shares = (counts.sum(axis=0) + SMOOTHING) / (counts.sum() + 3 * SMOOTHING)
        columns.append(np.log((counts + SMOOTHING * shares) / (counts.sum(axis=1, keepdims=True) + SMOOTHING)))
    return np.concatenate(columns, axis=1)


def orientations(bitext: Bitext, linked: Linked, found: Occurrences) -> tuple[Longs, Longs]:
    """(occurrence): the orientation to what is before it in the target, and to what is behind.

    Monotone: the words before both phrases are linked; swapped: the word before the target phrase is linked to that
    behind the source phrase; discontinuous: neither. The words around a sentence are linked to each other.
    """
    before, behind = found.targets - 1, found.targets + found.target_lengths
    left, right = found.sources - 1, found.sources + found.source_lengths
    sources, targets = bitext.sources.offsets, bitext.targets.offsets
    sentences = np.searchsorted(sources, found.sources, side="right") - 1
    starts = (left < sources[sentences]) & (before < targets[sentences])
    ends = (right >= sources[sentences + 1]) & (behind >= targets[sentences + 1])
    width = len(bitext.targets.data) + 2  # a place before the first word and one behind the last
    known = np.unique((linked.sources + 1) * width + linked.targets + 1)

    def are_linked(source: Longs, target: Longs) -> NDArray[np.bool_]:
        wanted = (source + 1) * width + target + 1
        found_at = np.searchsorted(known, wanted).clip(max=len(known) - 1)
        same: NDArray[np.bool_] = known[found_at] == wanted
        return same

    return (
        _orientation(starts | are_linked(left, before), are_linked(right, before)),
        _orientation(ends | are_linked(right, behind), are_linked(left, behind)),
    )


def _orientation(monotone: NDArray[np.bool_], swapped: NDArray[np.bool_]) -> Longs:
    return np.where(monotone, MONOTONE, np.where(swapped, SWAP, DISCONTINUOUS))
