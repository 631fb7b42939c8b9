"""New sentence pairs out of known ones: aligned phrases that stand between the same words are exchanged.

After https://aclanthology.org/2020.acl-main.676 (good-enough compositional data augmentation), with phrase pairs of
word alignments: both sides of a phrase pair change together, so source and target stay translations of each other.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from regard.arrays import Longs
from regard.data.examples import Example
from regard.data.ragged import Ragged
from regard.data.readers.reader import Reader
from regard.statistical.aligner import fit_both
from regard.statistical.bitext import Bitext
from regard.statistical.hmm import Hmm
from regard.statistical.phrase_extraction import Linked, Occurrences, extract_phrases
from regard.statistical.symmetrisation import grow_diag_final_and
from regard.text.words import cut_words


class TightPhrases(NamedTuple):
    """Phrase pairs, and the sentence pairs that they stand in."""

    bitext: Bitext
    found: Occurrences
    rows: Longs  # (phrase): sentence pair

    @classmethod
    def of(cls, words: Sequence[tuple[Sequence[str], Sequence[str]]], longest: int) -> "TightPhrases":
        """Align words without regard to case, and extract phrases of at most `longest` words with a letter or digit."""
        bitext = Bitext.of((_folded(source), _folded(target)) for source, target in words)
        links = fit_both(bitext, Hmm()).links(bitext, grow_diag_final_and)
        linked = Linked.of(bitext, links)
        found = _tight(extract_phrases(bitext, linked, longest), linked, bitext)
        return cls(bitext, found, np.searchsorted(bitext.sources.offsets, found.sources, side="right") - 1)

    def spans(self) -> Longs:
        """Return (phrase, 4): first word and number of words, of source and target, within the sentence pair."""
        found, rows = self.found, self.rows
        starts = found.sources - self.bitext.sources.offsets[rows], found.targets - self.bitext.targets.offsets[rows]
        return np.stack([starts[0], found.source_lengths, starts[1], found.target_lengths], 1)


def _folded(words: Sequence[str]) -> list[str]:
    """Return words without their space, in lower case."""
    return [word.strip().casefold() for word in words]


def _tight(found: Occurrences, linked: Linked, bitext: Bitext) -> Occurrences:
    """Keep phrase pairs whose first and last words have links on both sides, and that have a letter or a digit."""
    kept = np.ones(len(found.sources), bool)
    sides = (
        (bitext.sources, linked.sources, found.sources, found.source_lengths),
        (bitext.targets, linked.targets, found.targets, found.target_lengths),
    )
    for sentences, links, starts, lengths in sides:
        with_link = np.zeros(len(sentences.data), bool)
        with_link[links] = True
        kept &= with_link[starts] & with_link[starts + lengths - 1]
    spelt = np.array([any(map(str.isalnum, word)) for word in bitext.source_words])[bitext.sources.data]
    before = np.concatenate([[0], np.cumsum(spelt)])
    kept &= before[found.sources + found.source_lengths] > before[found.sources]
    return Occurrences(*(side[kept] for side in found))


_LONGEST = 4  # words of a phrase
_EXCHANGES = 2  # of one sentence pair, at most
_OUTSIDE = -1  # in place of a word before or behind a sentence

_Pair = tuple[str, str]


class RecombinedPairs(Reader):
    """Up to `copies` new pairs of each pair of a reader; none is a pair of the reader, none is made twice.

    An example has the line of the pair that it was made of. `seed` decides which phrases are exchanged.
    """

    derived = True

    def __init__(self, reader: Reader, copies: int, seed: int) -> None:
        self.columns, self.files = reader.columns, reader.files
        self._reader, self._copies, self._seed = reader, copies, seed

    @property
    def names(self) -> list[str]:
        return [f"recombined phrases of {self._reader.names[0]}"]

    def key(self) -> str:
        return f"recombined {self._copies} {self._seed} of {self._reader.key()}"

    def __iter__(self) -> Iterator[Example]:
        return iter(self._made)

    @cached_property
    def _made(self) -> list[Example]:
        source, target = self.columns
        examples = list(self._reader)
        pairs = [(one.texts[source], one.texts[target]) for one in examples]
        return [
            Example(examples[place].line, {source: made[0], target: made[1]})
            for place, made in recombined_pairs(pairs, self._copies, self._seed)
        ]


def recombined_pairs(pairs: Sequence[_Pair], copies: int, seed: int) -> Iterator[tuple[int, _Pair]]:
    """Yield new pairs, each behind the place of the pair that it was made of."""
    words = [(cut_words(source), cut_words(target)) for source, target in pairs]
    phrases = _Exchangeable.of(words)
    draws, known = np.random.default_rng(seed), set(pairs)
    for _ in range(copies):
        for place, sentence in enumerate(words):
            exchanged = phrases.exchanges(place, draws)
            source, target = (
                _exchange(sentence[side], [(own[side], words[row][side][other[side]]) for own, row, other in exchanged])
                for side in (0, 1)
            )
            if exchanged and (source, target) not in known:
                known.add((source, target))
                yield place, (source, target)


_Slices = tuple[slice, slice]  # words of source and target
_Exchanged = tuple[_Slices, int, _Slices]  # a phrase pair; sentence pair and place of the other


class _Exchangeable(NamedTuple):
    """Phrase pairs that stand between the same words as others."""

    spans: Longs  # (phrase, 4): first word and number of words, of source and target, within the sentence pair
    rows: Longs  # (phrase): sentence pair
    contents: Longs  # (phrase): equal for equal source phrases
    groups: Longs  # (phrase): equal between the same words
    by_row: Ragged  # sentence pair → phrases
    by_group: Ragged

    @classmethod
    def of(cls, words: Sequence[tuple[Sequence[str], Sequence[str]]]) -> "_Exchangeable":
        """Keep the aligned phrases whose neighbours occur more than once."""
        tight = TightPhrases.of(words, _LONGEST)
        bitext, found, rows = tight
        contexts = [
            *_neighbours(bitext.sources, rows, found.sources, found.source_lengths),
            *_neighbours(bitext.targets, rows, found.targets, found.target_lengths),
        ]
        _, groups, counts = np.unique(np.stack(contexts, 1), axis=0, return_inverse=True, return_counts=True)
        groups = groups.reshape(-1)
        kept = np.flatnonzero(counts[groups] > 1)
        contents = _contents(bitext.sources.data, found.sources[kept], found.source_lengths[kept])
        rows, groups = rows[kept], groups[kept]
        return cls(tight.spans()[kept], rows, contents, groups, _places(rows, len(words)), _places(groups, len(counts)))

    def exchanges(self, place: int, draws: np.random.Generator) -> list[_Exchanged]:
        """Sample phrase pairs of a sentence pair that do not touch, and for each another one to stand there."""
        drawn = list[_Exchanged]()
        for own in draws.permutation(self.by_row.row(place)):
            if len(drawn) == _EXCHANGES:
                break
            others = self.by_group.row(int(self.groups[own]))
            other = others[draws.integers(len(others))]
            slices = self._slices(own)
            apart = all(_apart(a, b) for before, *_ in drawn for a, b in zip(before, slices, strict=True))
            if apart and self.contents[own] != self.contents[other]:
                drawn.append((slices, int(self.rows[other]), self._slices(other)))
        return drawn

    def _slices(self, phrase: int) -> _Slices:
        source, source_length, target, target_length = self.spans[phrase].tolist()
        return slice(source, source + source_length), slice(target, target + target_length)


def _neighbours(sentences: Ragged, rows: Longs, starts: Longs, lengths: Longs) -> tuple[Longs, Longs]:
    """Return the words before and behind phrases, within their sentences."""
    padded = np.pad(sentences.data.astype(np.int64), 1, constant_values=_OUTSIDE)
    before = np.where(starts > sentences.offsets[rows], padded[starts], _OUTSIDE)
    behind = np.where(starts + lengths < sentences.offsets[rows + 1], padded[starts + lengths + 1], _OUTSIDE)
    return before, behind


def _contents(data: Longs, starts: Longs, lengths: Longs) -> Longs:
    """Return a number of each phrase, equal where the words are."""
    padded = np.pad(data.astype(np.int64), (0, _LONGEST), constant_values=_OUTSIDE)
    table = np.stack([np.where(place < lengths, padded[starts + place], _OUTSIDE) for place in range(_LONGEST)], 1)
    return np.unique(table, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _places(keys: Longs, count: int) -> Ragged:
    """Return the places of each key from 0 to count - 1."""
    return Ragged(np.argsort(keys, kind="stable"), np.searchsorted(np.sort(keys), np.arange(count + 1)))


def _apart(one: slice, other: slice) -> bool:
    """Return whether at least one word stands between two stretches of words."""
    return one.stop < other.start or other.stop < one.start


def _exchange(words: Sequence[str], exchanges: Sequence[tuple[slice, Sequence[str]]]) -> str:
    """Return the text with stretches of words replaced; the space before a stretch stays as it was."""
    made = list(words)
    for place, new in sorted(exchanges, key=lambda one: one[0].start, reverse=True):
        first = new[0].lstrip(" ")
        spaced = made[place.start].startswith(" ")
        made[place] = [" " + first if spaced else first, *new[1:]]
    return "".join(made).removeprefix(" ")
