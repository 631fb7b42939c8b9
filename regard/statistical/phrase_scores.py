"""Phrase pairs counted into a phrase table: relative frequencies and lexical weights, both ways, and reordering.

The lexical weights are those of https://aclanthology.org/N03-1017.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.arrays import Floats, Longs
from regard.data.ragged import Ragged
from regard.evaluation.alignments import Link
from regard.statistical.bitext import Bitext
from regard.statistical.lexical_table import Lexicon
from regard.statistical.phrase_extraction import MAX_LENGTH, Linked, Occurrences, extract_phrases, phrase_spans
from regard.statistical.phrase_table import PhraseTable

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


def phrase_table(
    bitext: Bitext, links: Sequence[Sequence[Link]], *, max_length: int = MAX_LENGTH, limit: int | None = None
) -> PhraseTable:
    """Return the table of all phrase pairs of at most `max_length` words that agree with `links`.

    `limit`: number of translations of each source phrase, the likeliest first; None: all.
    """
    linked = Linked.of(bitext, links)
    found = extract_phrases(bitext, linked, max_length)
    sources = _phrases(bitext.sources, len(bitext.source_words), found.sources, found.source_lengths)
    targets = _phrases(bitext.targets, len(bitext.target_words), found.targets, found.target_lengths)
    pairs, which, counts = np.unique(
        sources.ids * len(targets.starts) + targets.ids, return_inverse=True, return_counts=True
    )
    source, target = np.divmod(pairs, max(1, len(targets.starts)))
    scores, shown = np.empty((len(pairs), 4)), np.zeros(0, np.int64)
    for column, (phrases, weights) in enumerate(
        zip((target, source), _lexical_weights(bitext, linked, found), strict=True)
    ):
        shown = _largest(which, weights)
        scores[:, 2 * column] = np.log(counts / np.bincount(phrases, counts)[phrases])
        scores[:, 2 * column + 1] = weights[shown]
    order = np.lexsort((target, -scores[:, 2], source))
    ranks = np.arange(len(order)) - np.searchsorted(source[order], source[order])
    order = order[ranks < (len(order) if limit is None else limit)]
    words, places = _joined(bitext)
    first = Occurrences(*(side[shown[order]] for side in found))
    texts = _texts(bitext.targets, first.targets, first.target_lengths)
    return PhraseTable(
        words,
        _texts(bitext.sources, sources.starts, sources.lengths),
        np.searchsorted(source[order], np.arange(len(sources.starts) + 1)),
        targets=Ragged(places[texts.data], texts.offsets),
        links=_links(linked, first),
        scores=scores[order].astype(np.float32),
        reordering=reordering_scores(bitext, linked, found, which)[order].astype(np.float32),
    )


def linked_lexicon(bitext: Bitext, linked: Linked) -> tuple[Lexicon, Longs, Longs]:
    """Return p(target word | source word) by counting links; words without links count as those of NULL.

    And of each link, those of NULL too, the target place and its row of the lexicon.
    """
    alone = np.setdiff1d(np.arange(len(bitext.targets.data)), linked.targets)
    sources = np.concatenate([bitext.sources.data[linked.sources].astype(np.int64), np.zeros(len(alone), np.int64)])
    targets = np.concatenate([linked.targets, alone])
    keys = sources * len(bitext.target_words) + bitext.targets.data[targets]
    keys, rows, counts = np.unique(keys, return_inverse=True, return_counts=True)
    lexicon = Lexicon(bitext.source_words, bitext.target_words, keys, counts.astype(np.float64))
    return lexicon.with_counts(lexicon.values), targets, rows


class _Phrases(NamedTuple):
    """The phrase of each occurrence, and where each phrase stands once."""

    ids: Longs  # (occurrence)
    starts: Longs  # (phrase)
    lengths: Longs  # (phrase)


def _phrases(sentences: Ragged, words: int, starts: Longs, lengths: Longs) -> _Phrases:
    """Number phrases: one of n words is one of n - 1 and a word."""
    ids, firsts, sizes = np.zeros(len(starts), np.int64), [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    prefix = np.zeros(len(sentences.data), np.int64)
    for length in range(1, int(lengths.max(initial=0)) + 1):
        places = np.flatnonzero(phrase_spans(sentences, length))
        keys = prefix[places] * words + sentences.data[places + length - 1]
        prefix[places] = np.unique(keys, return_inverse=True)[1]
        here = np.flatnonzero(lengths == length)
        _, first, inverse = np.unique(prefix[starts[here]], return_index=True, return_inverse=True)
        ids[here] = inverse + sum(map(len, firsts))
        firsts.append(starts[here][first])
        sizes.append(np.full(len(first), length))
    return _Phrases(ids, np.concatenate(firsts), np.concatenate(sizes))


def _lexical_weights(bitext: Bitext, linked: Linked, found: Occurrences) -> tuple[Floats, Floats]:
    """log p(source | target) and log p(target | source), by words and their links, of each occurrence.

    All links of a word in a pair are inside the pair, so the weight of a word is the same in every pair, and that of a
    phrase is a difference of running sums.
    """
    sums = _weight_sums(bitext.flipped(), Linked(linked.targets, linked.sources))
    target_sums = _weight_sums(bitext, linked)
    return (
        sums[found.sources + found.source_lengths] - sums[found.sources],
        target_sums[found.targets + found.target_lengths] - target_sums[found.targets],
    )


def _weight_sums(bitext: Bitext, linked: Linked) -> Floats:
    """Running sums, from 0, of log mean p(target word | linked source word), or of log p(target word | NULL)."""
    lexicon, targets, rows = linked_lexicon(bitext, linked)
    means = np.bincount(targets, lexicon.values[rows]) / np.bincount(targets)
    return np.concatenate([[0.0], np.cumsum(np.log(means))])


def _largest(which: Longs, weights: Floats) -> Longs:
    """(pair): its occurrence of the largest weight, the first of equals."""
    order = np.lexsort((-weights, which))
    return order[np.searchsorted(which[order], np.arange(which.max(initial=-1) + 1))]


def _joined(bitext: Bitext) -> tuple[list[str], Longs]:
    """Words of both sides, each once, and the place of each target word."""
    ids = {word: place for place, word in enumerate(bitext.source_words)}
    places = [ids.setdefault(word, len(ids)) for word in bitext.target_words]
    return list(ids), np.array(places, np.int32)


def _texts(sentences: Ragged, starts: Longs, lengths: Longs) -> Ragged:
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    inside = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    return Ragged(sentences.data[np.repeat(starts, lengths) + inside], offsets)


def _links(linked: Linked, found: Occurrences) -> Ragged:
    """(occurrence): its links, (source, target) from its first words on."""
    starts = np.searchsorted(linked.targets, found.targets)
    counts = np.searchsorted(linked.targets, found.targets + found.target_lengths) - starts
    sources, targets = (_texts(Ragged(side, starts), starts, counts).data for side in linked)
    flat = np.stack([sources - np.repeat(found.sources, counts), targets - np.repeat(found.targets, counts)], axis=1)
    return Ragged(flat.ravel().astype(np.uint16), np.concatenate([[0], 2 * np.cumsum(counts)]))
