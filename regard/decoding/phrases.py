"""Which of the phrases that a target has to contain are written: an automaton of https://doi.org/10.1145/360825.360855."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.records import BOS

Array = NDArray[Any]


class Phrase(NamedTuple):
    """Ids that stand in a target one after the other; BOS as the first: at its beginning."""

    ids: tuple[int, ...]
    whole: bool = False  # what follows must not go on with its last word

    @property
    def size(self) -> int:
        """Ids to write."""
        return len(self.ids) - (self.ids[0] == BOS)


Term = tuple[Phrase, ...]  # one of these phrases has to be written


class Requirement(NamedTuple):
    """Required phrases and prefix of the target of an example."""

    terms: Sequence[Term] = ()  # one that is named twice is wanted twice
    prefix: Sequence[int] = ()
    places: Sequence[tuple[int, int]] = ()  # of each term in the pieces of the source, where they are known

    def behind(self, first: Sequence[int]) -> "Requirement":
        """Return the same behind ids that come first."""
        return self._replace(prefix=(*first, *self.prefix)) if first else self

    @property
    def size(self) -> int:
        """Most ids that are needed for it."""
        return len(self.prefix) + sum(max(phrase.size for phrase in term) for term in self.terms)

    @property
    def cells(self) -> int:
        """Most numbers that its automaton takes in memory, of each of its arrays."""
        terms = set(self.terms)
        ids = [phrase.ids for term in terms for phrase in term]
        return (1 + sum(map(len, ids))) * (len(set().union(*ids)) + len(terms))


class Requirements(NamedTuple):
    """Requirements of the lines of a batch; of other lines nothing is required."""

    of: Mapping[int, Requirement]
    parts_words: NDArray[np.bool_]  # (vocab,) ids that do not go on with the word before them, EOS among them

    def batch(self, lines: Sequence[int]) -> list[Requirement]:
        """Requirements of a batch."""
        return [self.of.get(line, Requirement()) for line in lines]


class PhraseProgress(NamedTuple):
    """Progress of hypotheses through the required phrases, a row each."""

    examples: Array  # (rows,)
    nodes: Array  # (rows,) of the automata
    met: Array  # (rows, terms) how often each term is written

    def select(self, rows: Array) -> "PhraseProgress":
        """Rows in that order."""
        return PhraseProgress(*(one[rows] for one in self))


class PhraseTracker:
    """The automata of a batch as arrays, so that all hypotheses read a word at once."""

    def __init__(self, requirements: Sequence[Requirement], parts_words: Array) -> None:
        automata = [_Automaton(one.terms) for one in requirements]
        width = max((len(one.needed) for one in automata), default=0)
        symbols = max((len(one.symbols) for one in automata), default=0)
        ends = np.cumsum([0, *(len(one.depths) for one in automata)])
        self.vocab, self.parts_words, self.roots = len(parts_words), parts_words, ends[:-1]
        self.needed, self.sizes = (np.zeros((len(automata), width), np.int64) for _ in range(2))
        self.words = np.full((len(automata), symbols), -1)  # of each example, those that phrases are made of
        self.next = np.zeros((ends[-1], symbols + 1), np.int64)  # the last symbol is any other word
        self.left = np.zeros((ends[-1], width), np.int64)  # ids to write yet of a term that is begun
        self.open, self.whole = (np.zeros((ends[-1], width), np.int64) for _ in range(2))
        keys, columns = list[Array](), list[Array]()
        for number, (one, (root, end)) in enumerate(zip(automata, pairwise(ends.tolist()), strict=True)):
            terms, known = len(one.needed), len(one.symbols)
            self.needed[number, :terms], self.sizes[number, :terms] = one.needed, one.sizes
            self.words[number, :known] = one.symbols
            self.next[root:end] = root
            self.next[root:end, :known] = root + one.next
            self.left[root:end, :terms] = one.left
            self.open[root:end, :terms], self.whole[root:end, :terms] = one.open, one.whole
            keys.append(number * self.vocab + np.array(one.symbols, np.int64))
            columns.append(np.arange(known))
        found = np.concatenate([*keys, np.empty(0, np.int64)])
        order = found.argsort()
        self._keys, self._columns = found[order], np.concatenate([*columns, np.empty(0, np.int64)])[order]
        self.totals = (self.needed * self.sizes).sum(axis=1)  # (examples,) ids that all terms take

    def start(self) -> PhraseProgress:
        """A row for each example, which has written nothing."""
        examples = np.arange(len(self.roots))
        begun = PhraseProgress(examples, self.roots, np.zeros_like(self.needed))
        return self.read(begun, np.full(len(examples), BOS))

    def read(self, progress: PhraseProgress, words: Array) -> PhraseProgress:
        """Words (rows,) are written behind the rows."""
        examples, nodes, met = progress
        needed = self.needed[examples]
        if not needed.shape[1]:  # a prefix alone
            return progress
        met = np.minimum(met + self.whole[nodes] * self.parts_words[words][:, None], needed)
        nodes = self.next[nodes, self._symbols(examples, words)]
        return PhraseProgress(examples, nodes, np.minimum(met + self.open[nodes], needed))

    def complete(self, progress: PhraseProgress) -> Array:
        """(rows,) whether all terms are written."""
        return np.logical_and.reduce(progress.met >= self.needed[progress.examples], axis=1)

    def remaining(self, progress: PhraseProgress) -> Array:
        """(rows,) ids that are to be written yet, at most."""
        examples, nodes, met = progress
        sizes, missing = self.sizes[examples], self.needed[examples] - met
        begun = np.where(missing > 0, sizes - self.left[nodes], 0)
        rest: Array = (missing * sizes).sum(axis=1) - begun.max(axis=1, initial=0)
        return rest

    def _symbols(self, examples: Array, words: Array) -> Array:
        if not len(self._keys):
            return np.full(len(words), -1)
        wanted = examples * self.vocab + words
        places = np.minimum(self._keys.searchsorted(wanted), len(self._keys) - 1)
        return np.where(self._keys[places] == wanted, self._columns[places], -1)


class _Automaton:
    """The phrases of one example: a trie whose nodes also know the longest other beginning that they end with."""

    def __init__(self, terms: Sequence[Term]) -> None:
        counted = Counter(terms)
        self.needed = list(counted.values())
        self.sizes = [max(phrase.size for phrase in term) for term in counted]
        self.children, self.depths = [dict[int, int]()], [0]
        ends = [(self._path(phrase), phrase, number) for number, term in enumerate(counted) for phrase in term]
        self.symbols = sorted({word for node in self.children for word in node})
        shape = len(self.depths), len(counted)
        self.left = np.tile(np.array(self.sizes, np.int64), (shape[0], 1))
        self.open, self.whole = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for path, phrase, number in ends:
            (self.whole if phrase.whole else self.open)[path[-1], number] = 1
            for rest, node in enumerate(reversed(path)):
                self.left[node, number] = min(self.left[node, number], rest)
        self.next = self._links()
        self.whole &= 1 - self.open  # what ends in one place counts once

    def _path(self, phrase: Phrase) -> list[int]:
        """The nodes of a phrase, made where they are missing; the root is none of them."""
        path, node = list[int](), 0
        for word in phrase.ids:
            if word not in self.children[node]:
                self.children[node][word] = len(self.depths)
                self.children.append({})
                self.depths.append(self.depths[node] + 1)
            node = self.children[node][word]
            path.append(node)
        return path

    def _links(self) -> Array:
        """(nodes, symbols) the node after each word; nodes take over what their shorter endings have written."""
        after = np.zeros((len(self.depths), len(self.symbols)), np.int64)
        fails, columns = [0] * len(self.depths), {word: column for column, word in enumerate(self.symbols)}
        for node in sorted(range(len(self.depths)), key=self.depths.__getitem__):
            fail = fails[node]
            if node:
                after[node] = after[fail]
                self.left[node] = np.minimum(self.left[node], self.left[fail])
                self.open[node] |= self.open[fail]
                self.whole[node] |= self.whole[fail]
            for word, child in self.children[node].items():
                column = columns[word]
                fails[child] = int(after[node, column])
                after[node, column] = child
        return after
