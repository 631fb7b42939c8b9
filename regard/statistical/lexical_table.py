"""Which words translate which: p(target word | source word) of the pairs that stand in one sentence pair."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from regard.arrays import Floats, Longs
from regard.data.readers.lines import read_lines
from regard.errors import DataError
from regard.packed import write_packed
from regard.statistical.bitext import NULL, Bitext, Block, Words

UNSEEN = 1e-12  # p(target | source) of words that stand in no sentence pair together
_LEAST = 1e-6  # smaller probabilities are not written
_CHUNK = 2**22  # word pairs that are numbered together


class Lexicon:
    """p(target | source), sparse. NULL is the source of target words that translate none.

    `keys` are source · (number of target words) + target, sorted; `values` their probabilities.
    """

    def __init__(self, source_words: Words, target_words: Words, keys: Longs, values: Floats) -> None:
        self.source_words, self.target_words, self.keys, self.values = source_words, target_words, keys, values
        self._sources = {word: place for place, word in enumerate(source_words)}
        self._targets = {word: place for place, word in enumerate(target_words)}
        self.starts = np.searchsorted(keys, np.arange(len(source_words) + 1) * len(target_words))  # of a source's pairs

    @classmethod
    def uniform(cls, bitext: Bitext, blocks: list[Block]) -> "Lexicon":
        """Return equal probabilities for all target words that stand beside a source word."""
        width, found, fresh = len(bitext.target_words), list[Longs](), 0
        for block in blocks:
            keys = np.unique(_keys(block, width))
            found.append(keys)
            fresh += len(keys)
            if fresh > _CHUNK:
                found, fresh = [np.unique(np.concatenate(found))], 0
        keys = np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)
        lexicon = cls(bitext.source_words, bitext.target_words, keys, np.ones(len(keys)))
        return lexicon.with_counts(lexicon.values)

    def with_counts(self, counts: Floats, alpha: float = 0.0) -> "Lexicon":
        """Return the lexicon that is likeliest by the counts of its pairs.

        `alpha` above 0 is the parameter of a Dirichlet prior of p(· | source) and takes the place of the maximum by
        exp E[log p] (variational Bayes): rare words are then not linked to whatever stands beside them.
        """
        sources = np.repeat(np.arange(len(self.source_words)), np.diff(self.starts))
        totals = np.bincount(sources, counts + alpha, minlength=len(self.source_words))[sources]
        if alpha:
            logs = (torch.from_numpy(counts + alpha).digamma() - torch.from_numpy(totals).digamma()).numpy()
            return Lexicon(self.source_words, self.target_words, self.keys, np.exp(logs))
        values = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
        return Lexicon(self.source_words, self.target_words, self.keys, values)

    def cells(self, block: Block) -> NDArray[np.int32]:
        """(sentence, target, 1 + source): where in `values` each word pair of a block is, whose words are ours."""
        return self._places(_keys(block, len(self.target_words))).astype(np.int32)

    def probabilities(self, bitext: Bitext, block: Block) -> Floats:
        """(sentence, target, 1 + source): p of each word pair of any bitext, UNSEEN for one that is not there."""
        sources = np.array([self._sources.get(word, -1) for word in bitext.source_words])[block.sources]
        targets = np.array([self._targets.get(word, -1) for word in bitext.target_words])[block.targets]
        keys = _keys(Block(block.places, sources, targets), len(self.target_words))
        places = self._places(keys).clip(max=max(0, len(self.keys) - 1))
        known = (sources >= 0)[:, None, :] & (targets >= 0)[:, :, None]
        if not len(self.keys):
            return np.full(keys.shape, UNSEEN)
        return np.where(known & (self.keys[places] == keys), self.values[places], 0).clip(min=UNSEEN)

    def _places(self, keys: Longs) -> Longs:
        """Where each key is or would be. In order they are found several times as fast."""
        distinct, inverse = np.unique(keys, return_inverse=True)
        places: Longs = np.searchsorted(self.keys, distinct)[inverse].reshape(keys.shape)
        return places

    def best(self, source: str, count: int = 1) -> list[tuple[str, float]]:
        """Return the likeliest translations of a word with their probabilities; none for an unknown word."""
        place = self._sources.get(source)
        if place is None:
            return []
        rows = slice(self.starts[place], self.starts[place + 1])
        words, values = self.keys[rows] % len(self.target_words), self.values[rows]
        order = np.lexsort((words, -values))[:count]
        return [(self.target_words[word], float(p)) for word, p in zip(words[order], values[order], strict=True)]

    def __iter__(self) -> Iterator[tuple[str, str, float]]:
        """(source, target, p) of all pairs."""
        width = len(self.target_words)
        for key, value in zip(self.keys.tolist(), self.values.tolist(), strict=True):
            yield self.source_words[key // width], self.target_words[key % width], value

    def write(self, path: Path) -> None:
        """Write lines of source, target and p with tabs between them; the source of NULL is empty."""
        with write_packed(path) as file:
            file.writelines(f"{source}\t{target}\t{p:.6g}\n" for source, target, p in self if p >= _LEAST)

    @classmethod
    def read(cls, path: Path) -> "Lexicon":
        """Read what `write` wrote. Raises DataError with the line that is not an entry."""
        sources, targets, pairs = {NULL: 0}, {NULL: 0}, list[tuple[int, int, float]]()
        for number, line in enumerate(read_lines(path), start=1):
            source, *rest = line.split("\t")
            p = _probability(rest[1]) if len(rest) == 2 else None
            if p is None:
                problem = f"'{line:.60}' is not an entry: the line is truncated, or not a line of a lexicon"
                raise DataError(path, problem, line=number, hint="source, target and probability, with tabs between")
            pairs.append((sources.setdefault(source, len(sources)), targets.setdefault(rest[0], len(targets)), p))
        keys = np.array([source * len(targets) + target for source, target, _ in pairs], np.int64)
        order = np.argsort(keys)
        return cls(list(sources), list(targets), keys[order], np.array([p for *_, p in pairs], np.float64)[order])


def _keys(block: Block, width: int) -> Longs:
    """(sentence, target, 1 + source) keys of the word pairs of a block."""
    keys: Longs = block.sources[:, None, :].astype(np.int64) * width + block.targets[:, :, None]
    return keys


def _probability(text: str) -> float | None:
    try:
        p = float(text)
    except ValueError:
        return None
    return p if 0 <= p <= 1 else None
