"""Phrase pairs that are consistent with word links: https://aclanthology.org/N03-1017.

A source phrase and a target phrase are a pair where at least one link is inside, and none goes from inside to outside.
Words without links at either end of a phrase may be in it or not, so both are taken.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.arrays import Longs
from regard.data.ragged import Ragged
from regard.evaluation.alignments import Link
from regard.statistical.bitext import Bitext

MAX_LENGTH = 7


class Occurrences(NamedTuple):
    """Where phrase pairs stand: places count the words of all sentences, one after the other."""

    sources: Longs  # first word
    source_lengths: Longs
    targets: Longs
    target_lengths: Longs


class Linked(NamedTuple):
    """All links of a bitext, in places that count the words of all sentences."""

    sources: Longs  # of each link
    targets: Longs  # of each link, not falling

    @classmethod
    def of(cls, bitext: Bitext, links: Sequence[Sequence[Link]]) -> "Linked":
        """`links` of each sentence pair, (source, target) from 0."""
        flat = np.array([link for row in links for link in row], np.int64).reshape(-1, 2)
        rows = np.repeat(np.arange(len(links)), [len(row) for row in links])
        sources, targets = flat[:, 0] + bitext.sources.offsets[rows], flat[:, 1] + bitext.targets.offsets[rows]
        order = np.lexsort((sources, targets))
        return cls(sources[order], targets[order])


def extract_phrases(bitext: Bitext, linked: Linked, max_length: int = MAX_LENGTH) -> Occurrences:
    """Return every consistent pair of phrases that have at most `max_length` words each."""
    source_reach = _reach(linked.sources, linked.targets, bitext.sources, max_length)
    target_first, target_last = _reach(linked.targets, linked.sources, bitext.targets, max_length)
    if not len(linked.sources):
        return _NONE
    left, right = _free(linked.targets, bitext.targets)
    found: list[tuple[Longs, ...]] = []
    for length, (firsts, lasts) in enumerate(zip(*source_reach, strict=True), start=1):
        starts = np.flatnonzero(firsts <= lasts)
        first, widths = firsts[starts], lasts[starts] - firsts[starts] + 1
        kept = widths <= max_length
        starts, first, widths = starts[kept], first[kept], widths[kept]
        inside = (target_first[widths - 1, first] >= starts) & (target_last[widths - 1, first] < starts + length)
        starts, first, widths = starts[inside], first[inside], widths[inside]
        for before in range(max_length):
            for after in range(max_length - before):
                last = first + widths - 1
                take = (left[first] >= before) & (right[last] >= after) & (widths + before + after <= max_length)
                if take.any():
                    sizes = np.full(int(take.sum()), length)
                    found.append((starts[take], sizes, first[take] - before, widths[take] + before + after))
    return Occurrences(*(np.concatenate(side) for side in zip(*found, strict=True))) if found else _NONE


def phrase_spans(sentences: Ragged, length: int) -> NDArray[np.bool_]:
    """(word): True where `length` words from here on are in one sentence."""
    ends = np.repeat(sentences.offsets[1:], sentences.lengths())
    fits: NDArray[np.bool_] = np.arange(len(ends)) + length <= ends
    return fits


def _reach(here: Longs, there: Longs, sentences: Ragged, max_length: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """(length - 1, word): first and last place that a phrase is linked to; first > last where it has no link."""
    count = len(sentences.data)
    first, last = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
    np.minimum.at(first, here, there)
    np.maximum.at(last, here, there)
    firsts, lasts = [first], [last]
    for length in range(2, max_length + 1):
        fits = phrase_spans(sentences, length)
        more = np.minimum(np.arange(count) + length - 1, max(count - 1, 0))
        firsts.append(np.where(fits, np.minimum(firsts[-1], first[more]), np.iinfo(np.int64).max))
        lasts.append(np.where(fits, np.maximum(lasts[-1], last[more]), -1))
    return np.array(firsts), np.array(lasts)


def _free(linked: Longs, sentences: Ragged) -> tuple[Longs, Longs]:
    """(word): how many words directly before and directly behind it, in its sentence, have no links."""
    count = len(sentences.data)
    places = np.arange(count)
    taken = np.zeros(count, bool)
    taken[linked] = True
    last = np.maximum.accumulate(np.where(taken, places, -1))
    following = np.minimum.accumulate(np.where(taken, places, count)[::-1])[::-1]
    starts, ends = (np.repeat(one, sentences.lengths()) for one in (sentences.offsets[:-1], sentences.offsets[1:]))
    before = np.maximum(np.append(-1, last[:-1]) + 1, starts)
    behind = np.minimum(np.append(following[1:], count), ends)
    return places - before, behind - places - 1


_NONE = Occurrences(*(np.zeros(0, np.int64) for _ in range(4)))
