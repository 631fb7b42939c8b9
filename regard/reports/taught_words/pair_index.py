"""Index of the training pairs of a run: which of them taught a word, by the words that translate each other.

IBM model 1 in both directions says how probably two words of a pair translate each other. Only pairs that are asked for
are linked, so the index of 30,000 pairs is made in seconds, once.
"""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from regard.arrays import Floats, Longs
from regard.config import staged
from regard.data.ragged import Ragged
from regard.data.readers.lines import digest
from regard.runs.assembly import check_translates
from regard.runs.run import Run
from regard.runs.texts import Say, training_readers
from regard.runs.training_links import MOST_PAIRS
from regard.statistical.aligner import fit
from regard.statistical.bitext import Bitext
from regard.statistical.ibm1 import Ibm1
from regard.statistical.lexical_table import UNSEEN, Lexicon
from regard.statistical.pair_checks.check import lower_words

_FORMAT = 1  # of the file; another one is another file
_ROUNDS = 4  # of EM
_RARE = 1e-4  # smaller probabilities are not kept
_LEAST_LINK = 0.01  # below which a source word is not marked
_LINKED = 200  # pairs of a word that are linked: those of the most similar contexts


class TaughtPair(NamedTuple):
    """A training pair that has a word, and the words that it is linked by."""

    row: int  # in the index
    link: float  # probability that the word translates one of the asked source words there, times the weight of that
    context: float  # cosine of the source words, weighted by their rarity, 0 to 1
    source: tuple[int, ...]  # places of the words in the pair's source
    target: tuple[int, ...]  # places of the word in the pair's target

    @property
    def score(self) -> float:
        """Link and context together, by which pairs are ranked."""
        return self.link + self.context


class PairIndex:
    """Training pairs as numbers of words, with p(target | source) and p(source | target)."""

    def __init__(self, bitext: Bitext, lexicons: tuple[Lexicon, Lexicon], corpora: Longs, lines: Longs) -> None:
        """`corpora` (pair,) are numbers of readers, `lines` (pair,) lines in their files, from 1."""
        self.bitext, self.lexicons, self.corpora, self.lines = bitext, lexicons, corpora, lines
        self._sources, self._targets = (
            {word: place for place, word in enumerate(words)} for words in (bitext.source_words, bitext.target_words)
        )

    @classmethod
    def of(cls, pairs: Sequence[tuple[str, str]], corpora: Sequence[int], lines: Sequence[int]) -> "PairIndex":
        """Cut texts into words and learn which of them translate each other."""
        bitext = Bitext.of((lower_words(source), lower_words(target)) for source, target in pairs)
        forward, reverse = (_kept(fit(one, Ibm1(), iterations=0, warm_up=_ROUNDS).lexicon)
                            for one in (bitext, bitext.flipped()))  # fmt: skip
        return cls(bitext, (forward, reverse), np.array(corpora, np.int64), np.array(lines, np.int64))

    def __len__(self) -> int:
        return len(self.bitext)

    def taught(self, word: str, weights: Mapping[str, float], source: Sequence[str], count: int) -> list[TaughtPair]:
        """Return the pairs that taught a target word, the strongest evidence first.

        `weights` says how much the word rests on each source word, 1 for the most; `source` are all words of the
        sentence that it was written for. Where the word is linked to none of them, the pairs that have it in the most
        similar contexts are returned, with a link of 0; where no pair has it, those of its strongest source word.
        """
        similar = self.similarities(source)
        number, asked = self._targets.get(word, -1), self._known(weights)
        rows = self.rows_with(word)
        found = [self._linked(row, number, asked, similar[row]) for row in self._best(rows, asked, similar)]
        linked = [one for one in found if one.link > 0]
        found = sorted(linked or found, key=lambda one: (-one.score, one.row))[:count]
        if not found:
            strongest = max(asked, key=lambda one: asked[one], default=-1)
            rows = _rows_with(self.bitext.sources, strongest)
            near = rows[np.argsort(-similar[rows], kind="stable")][:count]
            found = [TaughtPair(int(row), 0.0, float(similar[row]), self._places(row, asked), ()) for row in near]
        return found

    def rows_with(self, word: str) -> Longs:
        """Return the pairs (count,) that have a target word."""
        return _rows_with(self.bitext.targets, self._targets.get(word, -1))

    def _known(self, weights: Mapping[str, float]) -> dict[int, float]:
        """Return weights by number of the source words that the corpus has."""
        return {self._sources[word]: weight for word, weight in weights.items() if word in self._sources}

    def _best(self, rows: Longs, asked: Mapping[int, float], similar: Floats) -> list[int]:
        """Return some rows: first those with a queried source word, then those of similar contexts."""
        strength = np.zeros(len(self.bitext.source_words))
        strength[[*asked]] = [*asked.values()]
        words, lengths = self.bitext.sources.gather(rows)
        starts = np.cumsum(lengths) - lengths
        best = np.zeros(len(rows))
        if len(words):
            full = lengths > 0
            best[full] = np.maximum.reduceat(strength[words], starts[full])
        order: list[int] = rows[np.lexsort((rows, -similar[rows], -best))][:_LINKED].tolist()
        return order

    def _linked(self, row: int, number: int, asked: Mapping[int, float], similarity: float) -> TaughtPair:
        """Return the probability that a target word of a pair translates the given source words."""
        sources, targets = self.bitext.sources.row(row), self.bitext.targets.row(row)
        here = np.flatnonzero(targets == number)
        forward = _cells(self.lexicons[0], np.append(0, sources), targets)  # (target, 1 + source)
        reverse = _cells(self.lexicons[1], np.append(0, targets), sources)  # (source, 1 + target)
        to_source = (forward / forward.sum(axis=1, keepdims=True))[here, 1:]
        to_target = (reverse / reverse.sum(axis=1, keepdims=True))[:, here + 1].T
        both = np.sqrt(to_source * to_target)  # (place, source)
        weighted = both * np.array([asked.get(one, 0.0) for one in sources.tolist()])
        place, source = np.unravel_index(int(weighted.argmax()), weighted.shape) if weighted.size else (0, 0)
        link = float(weighted[place, source]) if weighted.size else 0.0
        linked = (int(source),) if link >= _LEAST_LINK else ()
        return TaughtPair(row, link, float(similarity), linked, tuple(here.tolist()))

    def _places(self, row: int, asked: Mapping[int, float]) -> tuple[int, ...]:
        sources = self.bitext.sources.row(row).tolist()
        return tuple(place for place, one in enumerate(sources) if one in asked)

    def similarities(self, words: Sequence[str]) -> Floats:
        """Cosine (pair,) of the sets of source words, each weighted by log(pairs / pairs with the word)."""
        numbers = np.unique([self._sources[word] for word in words if word in self._sources]).astype(np.int64)
        squares, (keys, rows) = self._rarities**2, self._postings
        found = np.zeros(len(self))
        for number in numbers.tolist():
            first, behind = np.searchsorted(keys, [number, number + 1])
            found[rows[first:behind]] += squares[number]
        norm = float(np.sqrt(squares[numbers].sum())) or 1.0
        return found / (self._norms * norm)

    @cached_property
    def _postings(self) -> tuple[Longs, Longs]:
        """Source words and the pairs that have them, in the order of words, each pair once."""
        data = self.bitext.sources.data.astype(np.int64)
        rows = np.repeat(np.arange(len(self)), self.bitext.sources.lengths())
        keys = np.unique(data * len(self) + rows)
        return keys // len(self), keys % len(self)

    @cached_property
    def _rarities(self) -> Floats:
        """Of each source word: log(pairs / pairs with it)."""
        counts = np.bincount(self._postings[0], minlength=len(self.bitext.source_words))
        rarities: Floats = np.log(len(self) / counts.clip(min=1))
        return rarities

    @cached_property
    def _norms(self) -> Floats:
        words, rows = self._postings
        norms: Floats = np.sqrt(np.bincount(rows, self._rarities[words] ** 2, minlength=len(self)))
        return np.where(norms > 0, norms, 1.0)

    def save(self, path: Path) -> None:
        """Write to a file, in one step."""
        path.parent.mkdir(parents=True, exist_ok=True)
        arrays: dict[str, NDArray[Any]] = {"words": _text([self.bitext.source_words, self.bitext.target_words])}
        for name, rows in (("sources", self.bitext.sources), ("targets", self.bitext.targets)):
            arrays |= {name: rows.data, f"{name}_offsets": rows.offsets}
        for name, lexicon in zip(("forward", "reverse"), self.lexicons, strict=True):
            arrays |= {f"{name}_keys": lexicon.keys, f"{name}_values": lexicon.values}
        arrays |= {"corpora": self.corpora, "lines": self.lines}
        new = staged(path)
        with new.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
        new.replace(path)

    @classmethod
    def load(cls, path: Path) -> "PairIndex | None":
        """Return the saved one; None where there is none, or it cannot be read."""
        try:
            with np.load(path, allow_pickle=False) as file:
                found = dict(file)
            words = json.loads(found["words"].tobytes())
            rows = [Ragged(found[side], found[f"{side}_offsets"]) for side in ("sources", "targets")]
            bitext = Bitext(words[0], words[1], rows[0], rows[1])
            lexicons = (
                Lexicon(words[0], words[1], found["forward_keys"], found["forward_values"]),
                Lexicon(words[1], words[0], found["reverse_keys"], found["reverse_values"]),
            )
            return cls(bitext, lexicons, found["corpora"], found["lines"])
        except (OSError, ValueError, KeyError, BadZipFile):
            return None


def run_index(run: Run, say: Say = lambda line: None) -> PairIndex:
    """Return the index of a run's training pairs, kept beside its data; made now where there is none.

    Raises ConfigError for a run that does not translate, DataError where its training texts are gone.
    """
    check_translates(run.columns, "--taught")
    readers = [*training_readers(run.experiment).values()]
    files = [(reader.key(), [digest(path).hex() for path in reader.files]) for reader in readers]
    key = hashlib.sha256(repr((_FORMAT, MOST_PAIRS, files)).encode()).hexdigest()[:16]
    path = (run.experiment.data.cache or run.folder.data) / f"pairs-{key}.npz"
    if (found := PairIndex.load(path)) is not None:
        return found
    start = time.monotonic()
    examples = islice(((number, one) for number, reader in enumerate(readers) for one in reader), MOST_PAIRS)
    rows = [(number, one.line, one.texts["source"], one.texts["target"]) for number, one in examples]
    first = "the first " if len(rows) == MOST_PAIRS else ""
    say(f"indexing the words of {first}{len(rows):,} training pairs; this happens once")
    corpora, lines, sources, targets = zip(*rows, strict=True)
    index = PairIndex.of([*zip(sources, targets, strict=True)], corpora, lines)
    index.save(path)
    say(f"indexed in {time.monotonic() - start:.0f} s, kept in {path}")
    return index


def _rows_with(rows: Ragged, number: int) -> Longs:
    """The rows that have a number, rising."""
    places = np.flatnonzero(rows.data == number)
    found: Longs = np.unique(np.searchsorted(rows.offsets, places, side="right") - 1)
    return found


def _cells(lexicon: Lexicon, sources: NDArray[Any], targets: NDArray[Any]) -> Floats:
    """p(target | source) of all pairs of two rows of words (target, source)."""
    keys = sources[None, :].astype(np.int64) * len(lexicon.target_words) + targets[:, None]
    places = np.searchsorted(lexicon.keys, keys).clip(max=max(0, len(lexicon.keys) - 1))
    known = lexicon.keys[places] == keys if len(lexicon.keys) else np.zeros(keys.shape, bool)
    return np.where(known, lexicon.values[places] if len(lexicon.keys) else 0.0, UNSEEN).clip(min=UNSEEN)


def _kept(lexicon: Lexicon) -> Lexicon:
    kept = lexicon.values >= _RARE
    return Lexicon(lexicon.source_words, lexicon.target_words, lexicon.keys[kept], lexicon.values[kept])


def _text(values: object) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(values).encode(), np.uint8)
