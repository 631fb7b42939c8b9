"""N-gram language models with back-off, as automata: https://www.cs.cmu.edu/~roni/11761/PreviousYearsHandouts/chen-goodman.pdf.

A state is a context. Of a word w in a context h with an arc for w, log p(w | h) is the arc's; else it is the back-off
weight of h plus log p(w | h without its first word).
"""

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.arrays import Floats, Longs
from regard.pieces import BOS, EOS, SPECIALS, UNK

Ints = NDArray[np.int32]

BEGIN, END_WORD, UNKNOWN_WORD = SPECIALS[BOS], SPECIALS[EOS], SPECIALS[UNK]  # ARPA files call them the same
EMPTY_STATE = 0  # the state of no context


class Ngrams(NamedTuple):
    """N-grams as nodes of a tree. Node 0 is the empty one, those of a length follow those that are shorter.

    The nodes of the words are 1, 2, 3 …, in the order of the words. The parent is the n-gram without its last word, the
    suffix the longest other n-gram that it ends with. Values are natural logarithms; those of node 0 have no meaning.
    """

    parents: Longs
    words: Longs
    suffixes: Longs
    log_probs: Floats
    backoffs: Floats
    lengths: NDArray[np.int64]


class NgramModel:
    """An automaton. Arcs of state s are firsts[s] … firsts[s + 1] - 1, by rising word; state 0 has all words."""

    def __init__(
        self, words: Sequence[str], firsts: Longs, *, arcs: Ints, log_probs: Floats, nexts: Ints, backoffs: Floats,
        lowers: Ints, lengths: Ints,
    ) -> None:  # fmt: skip
        """`arcs`, `log_probs` and `nexts` (arc,): word, its log-probability in nats and the state behind it.

        `backoffs`, `lowers` and `lengths` (state,): what backing off adds, where it leads, and the words of a context.
        """
        self.words, self.firsts = list(words), np.ascontiguousarray(firsts, np.int64)
        self.arcs, self.nexts, self.lowers, self.lengths = (
            np.ascontiguousarray(one, np.int32) for one in (arcs, nexts, lowers, lengths)
        )
        self.log_probs, self.backoffs = (np.ascontiguousarray(one, np.float64) for one in (log_probs, backoffs))
        self.ids = {word: place for place, word in enumerate(self.words)}
        self.end, self.unknown = self.ids[END_WORD], self.ids[UNKNOWN_WORD]
        self.start = int(nexts[self.ids[BEGIN]])

    @classmethod
    def of(cls, words: Sequence[str], ngrams: Ngrams) -> "NgramModel":
        """Return the automaton of n-grams. An n-gram that nothing follows, and that weighs nothing, has no state."""
        count = len(ngrams.parents)
        stays = np.bincount(ngrams.parents[1:], minlength=count) > 0
        stays |= ngrams.backoffs != 0
        stays[0] = True
        numbers, nearest = np.cumsum(stays) - 1, np.arange(count)
        while not stays[nearest].all():
            nearest = np.where(stays[nearest], nearest, ngrams.suffixes[nearest])
        state_of = numbers[nearest]
        nodes = np.lexsort((ngrams.words[1:], state_of[ngrams.parents[1:]])) + 1
        kept = np.flatnonzero(stays)
        backoffs = ngrams.backoffs[kept].copy()
        backoffs[0] = 0.0
        return cls(
            words,
            np.searchsorted(state_of[ngrams.parents[nodes]], np.arange(len(kept) + 1)).astype(np.int64),
            arcs=ngrams.words[nodes].astype(np.int32),
            log_probs=ngrams.log_probs[nodes],
            nexts=state_of[nodes].astype(np.int32),
            backoffs=backoffs,
            lowers=state_of[ngrams.suffixes[kept]].astype(np.int32),
            lengths=ngrams.lengths[kept].astype(np.int32),
        )

    @property
    def order(self) -> int:
        """Words of the longest n-gram."""
        return int(self.lengths[np.diff(self.firsts) > 0].max()) + 1

    def weighted(self, weight: float) -> "NgramModel":
        """Return the same model with all logarithms times a number."""
        return NgramModel(
            self.words, self.firsts, arcs=self.arcs, log_probs=self.log_probs * weight, nexts=self.nexts,
            backoffs=self.backoffs * weight, lowers=self.lowers, lengths=self.lengths,
        )  # fmt: skip

    def id(self, word: str) -> int:
        """Return the number of a word, that of the unknown word if it is one."""
        return self.ids.get(word, self.unknown)

    def step(self, state: int, word: int) -> tuple[float, int]:
        """Return log p(word | state) in nats and the state behind it."""
        firsts, arcs, backoffs, lowers, log_probs, nexts = self._lists
        total = 0.0
        while state != EMPTY_STATE:
            end = firsts[state + 1]
            place = bisect_left(arcs, word, firsts[state], end)
            if place < end and arcs[place] == word:
                return total + log_probs[place], nexts[place]
            total += backoffs[state]
            state = lowers[state]
        return total + log_probs[word], nexts[word]

    def steps(self, states: NDArray[np.int64], words: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64]]:
        """Return `step` of many states and words at once, any shape that both have."""
        here, totals = states.copy(), np.zeros(states.shape)
        while True:
            keys = here * len(self.words) + words
            places = np.searchsorted(self._keys, keys)
            missing = self._keys[np.minimum(places, len(self._keys) - 1)] != keys
            if not missing.any():
                return totals + self.log_probs[places], self.nexts[places].astype(np.int64)
            totals = np.where(missing, totals + self.backoffs[here], totals)
            here = np.where(missing, self.lowers[here], here)

    def log_probs_of(self, sentence: Sequence[str]) -> list[float]:
        """Return the log-probability of each word and of the end of a sentence, in nats."""
        found, state = list[float](), self.start
        for word in [*map(self.id, sentence), self.end]:
            value, state = self.step(state, word)
            found.append(value)
        return found

    @cached_property
    def _lists(self) -> tuple[list[int], list[int], list[float], list[int], list[float], list[int]]:
        """Plain numbers: one of them is read ten times faster out of a list than out of an array."""
        return (
            self.firsts.tolist(), self.arcs.tolist(), self.backoffs.tolist(), self.lowers.tolist(),
            self.log_probs.tolist(), self.nexts.tolist(),
        )  # fmt: skip

    @cached_property
    def _keys(self) -> Longs:
        """(arc,) rising: its state times the count of words, plus its word."""
        states = np.repeat(np.arange(len(self.backoffs), dtype=np.int64), np.diff(self.firsts))
        return states * len(self.words) + self.arcs
