"""Modified Kneser-Ney smoothing with interpolation (Chen and Goodman 1998, https://dash.harvard.edu/handle/1/25104739).

p(w | h) = (c(hw) - D) / c(h·) + γ(h) p(w | h without its first word), where c counts the longest n-grams and those that
begin a sentence as they occur, and any other by the words that stand before it. Below the words stands a uniform
distribution, which is all that the unknown word has.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.arrays import Floats, Longs
from regard.errors import DataError
from regard.statistical.ngram_model import BEGIN, END_WORD, UNKNOWN_WORD, NgramModel, Ngrams

FALLBACK = 0.5, 1.0, 1.5  # discounts where there are too few n-grams to estimate any
_NEVER = -99 * np.log(10)  # log-probability of <s>, which is not predicted, as ARPA files have it


class _Level(NamedTuple):
    """N-grams of one length; node i of the level is number offset + i of all."""

    offset: int
    parents: Longs
    words: Longs
    suffixes: Longs
    occurrences: Longs
    first: NDArray[np.bool_]  # whether an n-gram begins a sentence


def kneser_ney(sentences: Iterable[Sequence[str]], order: int) -> NgramModel:
    """Return the model of sentences, which are lists of words. Raises DataError where there are none."""
    ids = {UNKNOWN_WORD: 0, BEGIN: 1, END_WORD: 2}
    flat, places = list[int](), list[int]()
    for sentence in sentences:
        flat += [1, *(ids.setdefault(word, len(ids)) for word in sentence), 2]
        places += range(len(sentence) + 2)
    if not flat:
        raise DataError("training text", "there is nothing to count n-grams of", hint="is the file empty?")
    levels = _levels(np.array(flat), np.array(places), len(ids), order)
    return NgramModel.of(list(ids), _smoothed(levels))


def discounts(counts: NDArray[np.int64]) -> tuple[float, float, float]:
    """Return what is taken from counts of 1, of 2, and of 3 and more (Chen and Goodman, equation 26)."""
    n1, n2, n3, n4 = (int((counts == number).sum()) for number in (1, 2, 3, 4))
    if not (n1 and n2 and n3):
        return FALLBACK
    share = n1 / (n1 + 2 * n2)
    found = 1 - 2 * share * n2 / n1, 2 - 3 * share * n3 / n2, 3 - 4 * share * n4 / n3
    return found if all(0 < one <= most for one, most in zip(found, (1, 2, 3), strict=True)) else FALLBACK


def _levels(flat: Longs, places: Longs, size: int, order: int) -> list[_Level]:
    """Number the n-grams of each length; `places` are those in the sentence, from 0 on."""
    words = np.arange(size)
    nothing = np.zeros(size, np.int64)
    levels = [_Level(1, nothing, words, nothing, np.bincount(flat, minlength=size), words == 1)]
    before = flat + 1  # the node of the n-gram that ends at each place, one word shorter than those to come
    for length in range(2, order + 1):
        ends = np.flatnonzero(places >= length - 1)
        if not len(ends):
            break
        keys = before[ends - 1] * size + flat[ends]
        found, examples, numbers, occurrences = np.unique(
            keys, return_index=True, return_inverse=True, return_counts=True
        )
        offset = levels[-1].offset + len(levels[-1].words)
        first = places[ends[examples]] == length - 1
        levels.append(_Level(offset, found // size, found % size, before[ends[examples]], occurrences, first))
        before = before.copy()
        before[ends] = offset + numbers
    return levels


def _smoothed(levels: Sequence[_Level]) -> Ngrams:
    sizes = [len(level.words) for level in levels]
    probabilities, weights = np.ones(1 + sum(sizes)), np.ones(1 + sum(sizes))
    for level, above in zip(levels, [*levels[1:], None], strict=True):
        counts = level.occurrences
        if above is not None:
            kinds = np.bincount(above.suffixes - level.offset, minlength=len(counts))
            counts = np.where(level.first, counts, kinds)
        if level.offset == 1:
            counts = np.where(level.first, 0, counts)  # nothing predicts <s>
        _discount(level, counts, probabilities, weights)
    parents, words, suffixes = (
        np.concatenate([[0], *columns])
        for columns in zip(*((level.parents, level.words, level.suffixes) for level in levels), strict=True)
    )
    lengths = np.repeat(np.arange(len(levels) + 1), [1, *sizes])
    log_probs = np.log(probabilities)
    log_probs[2] = _NEVER
    return Ngrams(parents, words, suffixes, log_probs, np.log(weights), lengths)


def _discount(level: _Level, counts: Longs, probabilities: Floats, weights: Floats) -> None:
    """Write the probabilities of a level and the back-off weights of the nodes above it."""
    taken = np.array([0.0, *discounts(counts)])[np.minimum(counts, 3)]
    size = len(weights)
    totals = np.bincount(level.parents, counts, size)
    rests = np.bincount(level.parents, taken, size)
    parents = np.unique(level.parents)
    weights[parents] = rests[parents] / totals[parents]
    own = slice(level.offset, level.offset + len(counts))
    if level.offset == 1:
        probabilities[0] = 1 / (len(counts) - 1)  # of each word but <s>
    probabilities[own] = (counts - taken) / totals[level.parents]
    probabilities[own] += weights[level.parents] * probabilities[level.suffixes]
