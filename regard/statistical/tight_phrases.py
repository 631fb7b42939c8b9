"""Aligned phrases of sentence pairs whose first and last words have links on both sides."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from regard.arrays import Longs
from regard.statistical.aligner import fit_both
from regard.statistical.bitext import Bitext
from regard.statistical.hmm import Hmm
from regard.statistical.phrase_extraction import Linked, Occurrences, extract_phrases
from regard.statistical.symmetrisation import grow_diag_final_and


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
