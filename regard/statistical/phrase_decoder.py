"""Phrase-based translation: a log-linear model of phrase pairs, an n-gram model and jumps (Koehn et al. 2003).

https://aclanthology.org/N03-1017; orientations of phrases: https://aclanthology.org/N04-4026.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.arrays import Floats
from regard.data.ragged import Ragged
from regard.statistical.ngram_model import BEGIN, EMPTY_STATE, END_WORD, UNKNOWN_WORD, NgramModel
from regard.statistical.phrase_scores import DISCONTINUOUS, MONOTONE
from regard.statistical.phrase_table import REORDERING, TRANSLATION_SCORES, Phrase, PhraseTable
from regard.statistical.stack_search import WIDEST, PhraseOptions, Problem, orientation, outlooks, search

LANGUAGE, _WORDS, PHRASES, DISTANCE = "language model", "words", "phrases", "distance"
PHRASE_FEATURES = (*TRANSLATION_SCORES, _WORDS, PHRASES, LANGUAGE, DISTANCE, *REORDERING)
STATIC = len(TRANSLATION_SCORES) + 2  # features that a phrase pair has by itself
# those of Moses before tuning: https://www2.statmt.org/moses/?n=FactoredTraining.Tuning
MOSES_WEIGHTS = (0.2, 0.2, 0.2, 0.2, 1.0, 0.2, 0.5, 0.3, *[0.3] * len(REORDERING))


class Box(NamedTuple):
    """A source phrase and the target phrase it became; `row` of the phrase table, -1 for words that are copied."""

    start: int
    end: int
    target: Phrase
    row: int


class RequiredPhrase(NamedTuple):
    """A stretch of the source, and the phrases one of which it has to become, or be a part of."""

    start: int
    end: int
    targets: AbstractSet[Phrase]


class Translation(NamedTuple):
    """A target, as boxes in its order."""

    boxes: list[Box]
    score: float

    @property
    def words(self) -> Phrase:
        """The target."""
        return tuple(word for box in self.boxes for word in box.target)


class SearchLimits(NamedTuple):
    """Limits of the search."""

    size: int = 100  # hypotheses of a stack
    pops: int = 500  # hypotheses that are made for a stack
    options: int = 20  # translations of a phrase
    jump: int = 6  # most words between two phrases that follow each other; 0: monotone


_LIMITS = SearchLimits()
SPARE = 10  # derivations that are tried for each translation that is wanted: several have the same words
FORTUNE = -1e4  # of a word that a given text does not have there


class PhraseDecoder:
    """Phrase table, language model and weights (feature,), in the order of FEATURES."""

    def __init__(
        self,
        table: PhraseTable,
        language: NgramModel,
        weights: Sequence[float] | Floats,
        limits: SearchLimits = _LIMITS,
    ) -> None:
        self.table, self.language, self.limits = table, language, limits._replace(jump=min(limits.jump, WIDEST))
        self.weights = np.array(weights, np.float64)
        self._weighted = language.weighted(float(self.weights[PHRASE_FEATURES.index(LANGUAGE)]))
        self._numbers = np.array([language.id(word) for word in table.words], np.int32)
        self._targets = Ragged(self._numbers[table.targets.data].astype(np.int32), table.targets.offsets)
        self._lengths = self._targets.lengths().astype(np.float64)
        reordering = table.reordering if table.reordering.shape[1] else np.zeros((len(table), len(REORDERING)))
        self._reordering = np.asarray(reordering, np.float64) * self.weights[-len(REORDERING) :]
        self._inside = self._static(np.arange(len(table))) @ self.weights[:STATIC]
        self._estimates = self._inside + self._fluency()
        phrases = np.repeat(np.arange(len(table.firsts) - 1), np.diff(table.firsts))
        self._ranked = np.lexsort((-self._estimates, phrases))  # rows, those of a phrase together, the best first

    def __deepcopy__(self, memo: object) -> "PhraseDecoder":
        """Nothing of it changes, so copies share it."""
        return self

    def reweighted(self, weights: Sequence[float] | Floats) -> "PhraseDecoder":
        """Return the same with other weights."""
        return PhraseDecoder(self.table, self.language, weights, self.limits)

    def translate(
        self, sentence: Sequence[str], n_best: int = 1, required: Sequence[RequiredPhrase] = ()
    ) -> list[Translation]:
        """Return up to `n_best` translations, the best first; several may have the same words.

        Each has one of the targets of each phrase that is `required`, whose stretches do not overlap.
        """
        boxes = self.boxes(sentence) if not required else self.boxes_with(sentence, required)
        found = search(self._problem(len(sentence), boxes, self._weighted), n_best)
        spelled = {
            option: boxes[option]._replace(target=self._target(boxes[option]))
            for option in {option for one in found for option in one.options}
        }
        return [Translation([spelled[option] for option in one.options], one.score) for one in found]

    def different(
        self, sentence: Sequence[str], count: int, required: Sequence[RequiredPhrase] = ()
    ) -> list[Translation]:
        """Return up to `count` translations of different words, the best way to each, the best first."""
        found = dict[Phrase, Translation]()
        for one in self.translate(sentence, count if count == 1 else SPARE * count, required):
            found.setdefault(one.words, one)
        return [*found.values()][:count]

    def explain(self, sentence: Sequence[str], target: Sequence[str]) -> Translation | None:
        """Return how phrases give a target, by the best score but for the language model; None where they do not."""
        parts = {tuple(target[start:end]) for start in range(len(target)) for end in range(start + 1, len(target) + 1)}
        boxes = [box for box in self.boxes(sentence, limited=False) if self._target(box) in parts]
        boxes = [box._replace(target=self._target(box)) for box in boxes]
        found = search(self._problem(len(sentence), boxes, fixed_text(target)), 1)
        spelled = Translation([boxes[option] for option in found[0].options], found[0].score) if found else None
        return spelled if spelled is not None and spelled.words == tuple(target) else None

    def boxes(self, sentence: Sequence[str], *, limited: bool = True) -> list[Box]:
        """Return what each stretch may become, by start and end, the best first. What no phrase covers is copied.

        The target of a row of the table is left empty. Without `limited` all translations of a phrase are there.
        """
        found, length = list[Box](), len(sentence)
        for start in range(length):
            for end in range(start + 1, min(length, start + self.table.longest) + 1):
                rows = self.table.rows(sentence[start:end])
                most = self.limits.options if limited else len(rows)
                ranked = self._ranked[rows.start : min(rows.stop, rows.start + most)]
                found += [Box(start, end, (), row) for row in ranked.tolist()]
        return sorted(found + copies(sentence, found), key=lambda box: (box.start, box.end))

    def boxes_with(self, sentence: Sequence[str], required: Sequence[RequiredPhrase]) -> list[Box]:
        """Return the boxes that keep what is required: those beside its stretches, and those around one that write one
        of its targets. A target that the table does not have is copied as it is.
        """
        found = list[Box]()
        for box in self.boxes(sentence):
            inside = [one for one in required if one.start < box.end and one.end > box.start]
            if not inside or (len(inside) == 1 and box.row >= 0 and _keeps(box, self._target(box), inside[0])):
                found.append(box)
        rows = {(one.start, one.end): self.table.rows(sentence[one.start : one.end]) for one in required}
        for one in required:
            known = {self.table.entry(row).target: row for row in rows[one.start, one.end]}
            there = {self._target(box) for box in found if (box.start, box.end) == (one.start, one.end)}
            for target in sorted(one.targets - there):
                row = known.get(target, -1)
                found.append(Box(one.start, one.end, () if row >= 0 else target, row))
        stretches = {place for one in required for place in range(one.start, one.end)}
        kept = [box for box in found if box.row >= 0 or stretches & {*range(box.start, box.end)}]
        return sorted(kept + copies(sentence, kept, stretches), key=lambda box: (box.start, box.end))

    def _problem(self, length: int, boxes: Sequence[Box], language: NgramModel) -> Problem:
        """Input of a search."""
        rows = np.array([box.row for box in boxes], np.int64)
        known, starts, ends = rows >= 0, *(np.array([box[side] for box in boxes], np.int32) for side in (0, 1))
        inside, estimates = (np.zeros(len(boxes)) for _ in range(2))
        reordering = np.zeros((len(boxes), len(REORDERING)))
        inside[known], estimates[known] = self._inside[rows[known]], self._estimates[rows[known]]
        reordering[known] = self._reordering[rows[known]]
        for place in np.flatnonzero(~known).tolist():
            inside[place] = self.weights[len(TRANSLATION_SCORES) : STATIC] @ np.array([len(boxes[place].target), 1.0])
            estimates[place] = inside[place] + self._unfluent(boxes[place].target)
        _, groups = np.unique(reordering[:, 3:], axis=0, return_inverse=True)
        words = [self._words(box, language) for box in boxes]
        options = PhraseOptions(
            starts, ends, Ragged.of(words, np.dtype(np.int32)), inside, reordering[:, :3], reordering[:, 3:],
            groups.reshape(-1).astype(np.int32),
        )  # fmt: skip
        jumps = -np.arange(self.limits.jump + 1) * self.weights[PHRASE_FEATURES.index(DISTANCE)]
        outlook = outlooks(length, starts, ends, estimates)
        return Problem(length, options, outlook, jumps, language, size=self.limits.size, pops=self.limits.pops)

    def features(self, translation: Translation, length: int) -> Floats:
        """Return the values (feature,) whose weighted sum is the score of a translation of `length` source words."""
        values, state, last, before = np.zeros(len(PHRASE_FEATURES)), self.language.start, (0, 0), -1
        reordering = values[-len(REORDERING) :]
        for box in translation.boxes:
            values[:STATIC] += self._static(np.array([box.row]))[0] if box.row >= 0 else 0.0
            values[PHRASE_FEATURES.index(_WORDS)] += 0 if box.row >= 0 else len(box.target)
            values[PHRASE_FEATURES.index(PHRASES)] += box.row < 0
            side = orientation(box.start, box.end, last)
            self._reorder(reordering, box.row, side)
            self._reorder(reordering, before, side + 3)
            values[PHRASE_FEATURES.index(DISTANCE)] -= abs(box.start - last[1])
            for word in box.target:
                value, state = self.language.step(state, self.language.id(word))
                values[PHRASE_FEATURES.index(LANGUAGE)] += value
            last, before = (box.start, box.end), box.row
        self._reorder(reordering, before, 3 + (MONOTONE if last[1] == length else DISCONTINUOUS))
        values[PHRASE_FEATURES.index(LANGUAGE)] += self.language.step(state, self.language.end)[0]
        return values

    def _reorder(self, values: Floats, row: int, place: int) -> None:
        if row >= 0 and self.table.reordering.shape[1]:
            values[place] += self.table.reordering[row, place]

    def _static(self, rows: NDArray[np.int64]) -> Floats:
        """(row, STATIC)"""
        return np.concatenate(
            [self.table.scores[rows], self._lengths[rows, None], np.ones((len(rows), 1))], axis=1, dtype=np.float64
        )

    def _fluency(self) -> Floats:
        """(row,) what the language model would say of each target, without what stands before it."""
        totals, offsets = np.zeros(len(self.table)), self._targets.offsets
        rows, states = np.arange(len(self.table)), np.full(len(self.table), EMPTY_STATE, np.int64)
        place = 0
        while len(rows := rows[self._lengths[rows] > place]):
            values, after = self._weighted.steps(states[rows], self._targets.data[offsets[rows] + place].astype(int))
            totals[rows] += values
            states[rows], place = after, place + 1
        return totals

    def _unfluent(self, words: Phrase) -> float:
        """The same of one target."""
        total, state = 0.0, EMPTY_STATE
        for word in words:
            value, state = self._weighted.step(state, self.language.id(word))
            total += value
        return total

    def _words(self, box: Box, language: NgramModel) -> list[int]:
        """The target in a language model's numbers."""
        if language is self._weighted and box.row >= 0:
            return self._targets.row(box.row).tolist()
        return [language.id(word) for word in box.target]

    def _target(self, box: Box) -> Phrase:
        return self.table.entry(box.row).target if box.row >= 0 else box.target


def fixed_text(words: Sequence[str]) -> NgramModel:
    """Return a language model that knows one text: any other word than the next one costs a fortune."""
    known = list(dict.fromkeys([UNKNOWN_WORD, BEGIN, END_WORD, *words]))
    ids, places = {word: place for place, word in enumerate(known)}, len(words) + 1
    firsts = [0, *range(len(known), len(known) + places + 1)]
    nexts = [EMPTY_STATE] * len(known) + [*range(2, places + 1), EMPTY_STATE]
    nexts[ids[BEGIN]] = 1
    return NgramModel(
        known,
        np.array(firsts),
        arcs=np.array([*range(len(known)), *(ids[word] for word in [*words, END_WORD])], np.int32),
        log_probs=np.zeros(len(nexts)),
        nexts=np.array(nexts, np.int32),
        backoffs=np.array([0.0] + [FORTUNE] * places),
        lowers=np.zeros(places + 1, np.int32),
        lengths=np.arange(places + 1, dtype=np.int32),
    )


def _keeps(box: Box, target: Phrase, one: RequiredPhrase) -> bool:
    """Return whether a box around a stretch writes one of its targets."""
    if box.start > one.start or box.end < one.end:
        return False
    return any(target[place : place + len(each)] == each for each in one.targets for place in range(len(target)))


def copies(sentence: Sequence[str], found: Sequence[Box], covered: AbstractSet[int] = frozenset()) -> list[Box]:
    """Return boxes that copy words without a translation of their own; those at the places `covered` have one.

    Neighbours are copied together, at most `WIDEST` words a box. Where a longer phrase knows one of them, each word is
    copied by itself.
    """
    alone = {box.start for box in found if box.end == box.start + 1} | covered
    inside = {place for box in found for place in range(box.start, box.end)}
    copied, start = list[Box](), 0
    while start < len(sentence):
        end = start + 1
        if start not in alone:
            while end < len(sentence) and end not in alone:
                end += 1
            size = 1 if inside & {*range(start, end)} else WIDEST
            pieces = [(place, min(place + size, end)) for place in range(start, end, size)]
            copied += [Box(*piece, tuple(sentence[slice(*piece)]), -1) for piece in pieces]
        start = end
    return copied
